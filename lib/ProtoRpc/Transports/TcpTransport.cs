using System.Globalization;
using System.Net;
using System.Net.Sockets;
using ProtoRpc;
using ProtoRpc.Transports;

[assembly: NativeTransport<TcpTransport>(RpcTransport.Tcp)]

namespace ProtoRpc.Transports;

/// <summary><c>ncacn_ip_tcp</c>: the native protocol over TCP, IPv4 and IPv6.</summary>
internal sealed class TcpTransport : INativeTransport
{
    private const int Backlog = 512;

    /// <inheritdoc/>
    public TransportListener Listen(RpcEndpoint endpoint)
    {
        Socket? socket = null;
        try
        {
            IPAddress address = ListenAddress(endpoint.Host);
            socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (OperatingSystem.IsWindows())
            {
                // There, another program could otherwise bind the same port and take over its connections.
                socket.ExclusiveAddressUse = true;
            }

            if (address.Equals(IPAddress.IPv6Any))
            {
                socket.DualMode = true;
            }

            socket.Bind(new IPEndPoint(address, endpoint.Port));
            socket.Listen(Backlog);
            int port = ((IPEndPoint)socket.LocalEndPoint!).Port;
            return new SocketListener(
                socket, endpoint.WithPort(port), port.ToString(CultureInfo.InvariantCulture),
                static s => s.Dispose());
        }
        catch (SocketException e)
        {
            socket?.Dispose();
            throw EndpointErrors.CannotListen(endpoint, e);
        }
    }

    /// <inheritdoc/>
    public TransportConnection Connect(RpcEndpoint endpoint, TimeSpan timeout, CancellationToken cancellation)
    {
        long end = Environment.TickCount64 + (long)timeout.TotalMilliseconds;
        try
        {
            SocketException? last = null;
            foreach (IPAddress address in Resolve(endpoint.Host))
            {
                TimeSpan left = TimeSpan.FromMilliseconds(Math.Max(1, end - Environment.TickCount64));
                try
                {
                    Socket socket = new(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                    SocketDialer.Connect(socket, new IPEndPoint(address, endpoint.Port), left, cancellation);
                    return new SocketConnection(socket);
                }
                catch (SocketException e)
                {
                    last = e;
                }
            }

            throw last ?? new SocketException((int)SocketError.HostNotFound);
        }
        catch (SocketException e)
        {
            throw EndpointErrors.CannotConnect(endpoint, e);
        }
        catch (OperationCanceledException e)
        {
            throw EndpointErrors.ConnectGivenUp(endpoint, timeout, e, cancellation);
        }
    }

    /// <summary>The addresses of a host name, or the address that it is.</summary>
    /// <exception cref="SocketException">There is no such host.</exception>
    public static IPAddress[] Resolve(string host) =>
        IPAddress.TryParse(host, out IPAddress? address) ? [address] : Dns.GetHostAddresses(host);

    // A name is bound on one of its addresses, an IPv4 one if there is: clients try each of them.
    internal static IPAddress ListenAddress(string host)
    {
        IPAddress[] addresses = Resolve(host);
        return Array.Find(addresses, a => a.AddressFamily == AddressFamily.InterNetwork)
            ?? addresses.FirstOrDefault()
            ?? throw new SocketException((int)SocketError.HostNotFound);
    }
}
