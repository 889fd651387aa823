using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Transports.Http;

/// <summary>Makes the connections of HTTP/2: TCP, through a proxy or not, or a Unix socket, with TLS where
/// the endpoint says so.</summary>
internal static class GrpcDialer
{
    /// <summary>Connects and shakes hands.</summary>
    /// <param name="endpoint">Where to.</param>
    /// <param name="tls">Whom to trust.</param>
    /// <param name="proxies">The proxies; null for those of the environment.</param>
    /// <param name="timeout">For connecting, and then for the server's first word.</param>
    /// <param name="refused">Gets the error of a server that turns out later to speak something else.</param>
    /// <param name="cancellation">Ends the try.</param>
    /// <param name="lookUp">Finds the addresses of a host name; null to ask the system.</param>
    /// <param name="checkServer">Checks who listens on a Unix socket; null for no check.</param>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded,
    /// Cancelled; says what is wrong.</exception>
    public static async Task<DialedConnection> DialAsync(
        RpcEndpoint endpoint,
        RpcTlsOptions tls,
        IWebProxy? proxies,
        TimeSpan timeout,
        Action<RpcException> refused,
        CancellationToken cancellation,
        Func<string, IPAddress[]>? lookUp = null,
        Action<Socket>? checkServer = null)
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        end.CancelAfter(timeout);
        ProxyRoute? proxy = ProxyTunnel.Find(endpoint, proxies);
        Socket? socket = null;
        try
        {
            socket = await ConnectAsync(endpoint, proxy, lookUp ?? HostLookup.Find, end.Token)
                .ConfigureAwait(false);
            if (endpoint.Has(EndpointFeatures.KnowsServer))
            {
                checkServer?.Invoke(socket);
            }

            Stream stream = new NetworkStream(socket, ownsSocket: true);
            if (proxy is not null)
            {
                stream = await ProxyTunnel.OpenAsync(stream, proxy, endpoint, end.Token)
                    .ConfigureAwait(false);
            }

            PeerGreeting expected = endpoint.IsTls ? PeerGreeting.Tls : PeerGreeting.Http2;
            GreetedStream greeted = new(
                stream, endpoint, expected, timeout, refused, isDirect: proxy is null);
            return new DialedConnection(socket, endpoint.IsTls
                ? await ShakeHandsAsync(greeted, endpoint, tls, end.Token).ConfigureAwait(false)
                : greeted);
        }
        catch (Exception e)
        {
            socket?.Dispose();
            throw Explain(e, endpoint, proxy, timeout, cancellation);
        }
    }

    private static RpcException Explain(
        Exception exception, RpcEndpoint endpoint, ProxyRoute? proxy, TimeSpan timeout,
        CancellationToken cancellation) => exception switch
        {
            RpcException known => known,
            SocketException e when proxy is not null => ProxyTunnel.CannotReach(proxy, endpoint, e),
            OperationCanceledException e when proxy is not null && !cancellation.IsCancellationRequested =>
                ProxyTunnel.TimedOut(proxy, endpoint, timeout, e),
            SocketException e => EndpointErrors.CannotConnect(endpoint, e),
            OperationCanceledException e =>
                EndpointErrors.ConnectGivenUp(endpoint, timeout, e, cancellation),
            _ => EndpointErrors.CannotConnect(endpoint, exception),
        };

    private static async Task<Socket> ConnectAsync(
        RpcEndpoint endpoint, ProxyRoute? proxy, Func<string, IPAddress[]> lookUp,
        CancellationToken cancellation)
    {
        bool local = !endpoint.Kind.HasPort;
        Socket socket = local
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            if (local)
            {
                await socket.ConnectAsync(SocketAddress(endpoint), cancellation).ConfigureAwait(false);
            }
            else
            {
                (string host, int port) = proxy is null
                    ? (endpoint.Host, endpoint.Port)
                    : (proxy.Address.IdnHost, proxy.Address.Port);
                IPAddress[] addresses = await HostLookup.FindAsync(host, lookUp, cancellation)
                    .ConfigureAwait(false);
                await socket.ConnectAsync(addresses, port, cancellation).ConfigureAwait(false);
            }

            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static UnixDomainSocketEndPoint SocketAddress(RpcEndpoint endpoint)
    {
        if (!File.Exists(endpoint.SocketPath))
        {
            throw new RpcException(
                RpcStatusCode.Unavailable,
                $"Cannot connect to '{endpoint}': there is no socket '{endpoint.SocketPath}'. "
                + "Start the server, or check the path.")
            {
                Endpoint = endpoint,
            };
        }

        try
        {
            return new UnixDomainSocketEndPoint(endpoint.SocketPath);
        }
        catch (ArgumentOutOfRangeException e)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"The path of '{endpoint}' is too long for a Unix socket.", e)
            {
                ErrorId = RpcErrorIds.EndpointNameTooLong,
                Endpoint = endpoint,
            };
        }
    }

    private static async Task<Stream> ShakeHandsAsync(
        Stream stream, RpcEndpoint endpoint, RpcTlsOptions tls, CancellationToken cancellation)
    {
        SslStream secured = new(stream);
        TlsTrust trust = new(endpoint, tls, SslApplicationProtocol.Http2);
        await trust.JudgeAsync(() => secured.AuthenticateAsClientAsync(trust.Options, cancellation))
            .ConfigureAwait(false);
        return secured.NegotiatedApplicationProtocol == SslApplicationProtocol.Http2
            ? secured
            : throw WrongProtocolErrors.NoHttp2(endpoint);
    }
}
