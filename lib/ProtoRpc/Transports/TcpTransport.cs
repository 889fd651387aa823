using System.Net;
using System.Net.Sockets;
using ProtoRpc;
using ProtoRpc.Security;
using ProtoRpc.Transports;

[assembly: Transport<TcpTransport>(RpcTransport.Tcp)]

namespace ProtoRpc.Transports;

/// <summary><c>ncacn_ip_tcp</c>: the native protocol over TCP, IPv4 and IPv6.</summary>
internal sealed class TcpTransport : INativeTransport
{
    private const int Backlog = 512;

    private readonly Func<string, IPAddress[]> _lookUp;

    public TcpTransport()
        : this(HostLookup.Find)
    {
    }

    /// <param name="lookUp">Finds the addresses of a host name.</param>
    internal TcpTransport(Func<string, IPAddress[]> lookUp) => _lookUp = lookUp;

    public TransportListener Listen(RpcEndpoint endpoint, AllowedAccounts? allowed = null)
    {
        Socket? socket = null;
        try
        {
            IPAddress address = ListenAddress(endpoint.Host);
            socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (OperatingSystem.IsWindows())
            {
                // On Windows, another program could otherwise bind the same port and receive its connections.
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

    public TransportConnection Connect(
        RpcEndpoint endpoint, string? serverUser, TimeSpan timeout, CancellationToken cancellation)
    {
        try
        {
            CallClock clock = CallClock.Start(timeout, cancellation);
            IPAddress[] addresses = HostLookup.Find(endpoint.Host, clock, _lookUp);
            return new SocketConnection(Dial(addresses, endpoint.Port, clock));
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

    /// <summary>Connects to the first address that accepts. Each address has an equal share of the remaining
    /// time, so that one that never replies leaves time for the others.</summary>
    internal static Socket Dial(IPAddress[] addresses, int port, CallClock clock)
    {
        Exception last = new SocketException((int)SocketError.HostNotFound);
        for (int i = 0; i < addresses.Length; i++)
        {
            TimeSpan share = clock.IsEndless ? clock.Timeout : clock.Left / (addresses.Length - i);
            try
            {
                Socket socket = new(addresses[i].AddressFamily, SocketType.Stream, ProtocolType.Tcp);
                SocketDialer.Connect(socket, new IPEndPoint(addresses[i], port), share, clock.Caller);
                return socket;
            }
            catch (Exception e) when (e is SocketException
                || (e is OperationCanceledException && !clock.Caller.IsCancellationRequested))
            {
                last = e;
            }
        }

        throw last;
    }

    // A host name is bound to one of its addresses, preferably IPv4. Clients try all addresses of a name.
    internal static IPAddress ListenAddress(string host)
    {
        IPAddress[] addresses = HostLookup.Find(host);
        return Array.Find(addresses, a => a.AddressFamily == AddressFamily.InterNetwork)
            ?? addresses.FirstOrDefault()
            ?? throw new SocketException((int)SocketError.HostNotFound);
    }
}
