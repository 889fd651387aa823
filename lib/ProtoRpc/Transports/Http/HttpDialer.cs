using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports.Http;

/// <summary>Makes the TCP connections of HTTP without TLS.</summary>
internal static class HttpDialer
{
    /// <summary>Connects to a server, or to the proxy before it, on a thread of its own.</summary>
    /// <remarks>A blocking connect, because the ConnectAsync that the HTTP client uses makes the socket
    /// non-blocking for good. A blocking call would then wait for the runtime's event loop, which receives
    /// the reply and wakes the caller, and takes up to half as much processor time again.</remarks>
    /// <param name="address">The server, or the proxy.</param>
    /// <param name="timeout">The time to connect; InfiniteTimeSpan for no limit.</param>
    /// <param name="cancellation">Ends the try.</param>
    /// <exception cref="SocketException">There is no such host, or no address accepts.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled, or the time is over.</exception>
    public static async ValueTask<Stream> ConnectAsync(
        DnsEndPoint address, TimeSpan timeout, CancellationToken cancellation)
    {
        CallClock clock = CallClock.Start(timeout, cancellation);
        try
        {
            IPAddress[] addresses = await HostLookup.FindAsync(address.Host, HostLookup.Find, cancellation)
                .ConfigureAwait(false);
            Socket socket = await Task.Factory.StartNew(
                () => TcpTransport.Dial(addresses, address.Port, clock), CancellationToken.None,
                TaskCreationOptions.LongRunning, TaskScheduler.Default)
                .ConfigureAwait(false);
            socket.NoDelay = true;
            return new BlockingSocketStream(socket);
        }
        catch (Exception e) when (cancellation.IsCancellationRequested)
        {
            // The HTTP client recognizes its own connect timeout by the token.
            throw new OperationCanceledException(e.Message, e, cancellation);
        }
    }
}
