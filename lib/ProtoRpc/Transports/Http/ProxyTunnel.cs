using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;

namespace ProtoRpc.Transports.Http;

/// <summary>Connections to servers of gRPC through an HTTP proxy: RFC 9110, section 9.3.6. The HTTP client of
/// .NET has no tunnels for HTTP/2 without TLS.</summary>
internal static class ProxyTunnel
{
    // A longer reply to CONNECT is not from a proxy.
    private const int MaxHeadBytes = 16 * 1024;
    private const int MaxReason = 100;

    /// <summary>The proxy of a server.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="given">The proxies that the client was given; null for those of the environment.</param>
    /// <returns>Null where the server is reached directly.</returns>
    /// <exception cref="RpcException">InvalidArgument: the proxy is of another kind.</exception>
    public static ProxyRoute? Find(RpcEndpoint endpoint, IWebProxy? given)
    {
        if (!endpoint.Kind.HasPort)
        {
            return null;
        }

        // Like other gRPC implementations, uses the HTTPS proxy even without TLS, because gRPC always needs a
        // tunnel.
        Uri server = new UriBuilder("https", endpoint.Host, endpoint.Port).Uri;
        IWebProxy proxy = given ?? EnvironmentProxy.Create(isGrpc: true);
        if (proxy.IsBypassed(server) || proxy.GetProxy(server) is not { } address || address == server)
        {
            return null;
        }

        return address.Scheme is "http" or "https"
            ? new ProxyRoute(address, proxy.Credentials?.GetCredential(address, "Basic"))
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The proxy '{ProxyRoute.NameOf(address)}' cannot be used for '{endpoint}': gRPC needs an "
                + "http:// or https:// proxy. Change the address of the proxy, or add the host to NO_PROXY.")
            {
                ErrorId = RpcErrorIds.ProxyRefused,
                Endpoint = endpoint,
            };
    }

    /// <summary>Asks a proxy for a tunnel to a server.</summary>
    /// <param name="connection">The connection to the proxy.</param>
    /// <param name="proxy">The proxy.</param>
    /// <param name="endpoint">The server.</param>
    /// <param name="cancellation">Ends the try.</param>
    /// <returns>The tunnel.</returns>
    /// <exception cref="RpcException">The proxy did not create the tunnel; the message contains the
    /// reason.</exception>
    public static async Task<Stream> OpenAsync(
        Stream connection, ProxyRoute proxy, RpcEndpoint endpoint, CancellationToken cancellation)
    {
        try
        {
            Stream stream = proxy.Address.Scheme == "https"
                ? await ShakeHandsAsync(connection, proxy, cancellation).ConfigureAwait(false)
                : connection;
            await stream.WriteAsync(Request(proxy, endpoint), cancellation).ConfigureAwait(false);
            await stream.FlushAsync(cancellation).ConfigureAwait(false);
            Judge(await ReadHeadAsync(stream, cancellation).ConfigureAwait(false), proxy, endpoint);
            return stream;
        }
        catch (Exception e) when (e is IOException or SocketException or AuthenticationException)
        {
            throw CannotUse(proxy, endpoint, e.Message.TrimEnd('.') + ". Check the address of the proxy", e);
        }
    }

    /// <summary>The proxy does not accept connections.</summary>
    public static RpcException CannotReach(ProxyRoute proxy, RpcEndpoint endpoint, SocketException error) =>
        CannotUse(
            proxy, endpoint,
            (error.SocketErrorCode switch
            {
                SocketError.ConnectionRefused => "nothing listens there",
                SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain =>
                    "the host name of the proxy is unknown",
                _ => error.Message.TrimEnd('.'),
            })
            + ". Check the address of the proxy, or add the server's host to NO_PROXY",
            error);

    /// <summary>The proxy, or the server after it, did not reply in time.</summary>
    public static RpcException TimedOut(
        ProxyRoute proxy, RpcEndpoint endpoint, TimeSpan timeout, OperationCanceledException exception) =>
        new(
            RpcStatusCode.DeadlineExceeded, RpcErrorIds.ConnectTimeout,
            (exception is HostLookupTimeout
                ? $"DNS did not resolve the proxy '{proxy}' of '{endpoint}' within "
                : $"The proxy '{proxy}' made no connection to '{endpoint}' within ")
            + $"{timeout.TotalSeconds:0.###} s. "
            + $"Check both, or raise {nameof(RpcLimits)}.{nameof(RpcLimits.ConnectTimeout)}.", endpoint);

    private static async Task<Stream> ShakeHandsAsync(
        Stream connection, ProxyRoute proxy, CancellationToken cancellation)
    {
        SslStream secured = new(connection);
        await secured.AuthenticateAsClientAsync(
            new SslClientAuthenticationOptions { TargetHost = proxy.Address.IdnHost }, cancellation)
                .ConfigureAwait(false);
        return secured;
    }

    private static byte[] Request(ProxyRoute proxy, RpcEndpoint endpoint)
    {
        string host = new UriBuilder("https", endpoint.Host, endpoint.Port).Uri.IdnHost;
        string server = $"{(host.Contains(':') ? $"[{host}]" : host)}:{endpoint.Port}";
        string authorization = proxy.Credential is { } user
            ? $"Proxy-Authorization: Basic {Basic(user)}\r\n"
            : "";
        return Encoding.ASCII.GetBytes($"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n{authorization}\r\n");
    }

    private static string Basic(NetworkCredential user) =>
        Convert.ToBase64String(Encoding.UTF8.GetBytes($"{user.UserName}:{user.Password}"));

    // Reads byte by byte, because the bytes after the head belong to the server.
    private static async Task<string> ReadHeadAsync(Stream stream, CancellationToken cancellation)
    {
        byte[] head = new byte[MaxHeadBytes];
        for (int count = 0; count < head.Length;)
        {
            if (await stream.ReadAsync(head.AsMemory(count, 1), cancellation).ConfigureAwait(false) == 0)
            {
                throw new IOException("it closed the connection");
            }

            if (head[count++] == '\n' && IsEnd(head.AsSpan(0, count)))
            {
                return Encoding.Latin1.GetString(head, 0, count);
            }
        }

        throw new IOException("it does not answer in HTTP");
    }

    private static bool IsEnd(ReadOnlySpan<byte> head) =>
        head.EndsWith("\r\n\r\n"u8) || head.EndsWith("\n\n"u8);

    private static void Judge(string head, ProxyRoute proxy, RpcEndpoint endpoint)
    {
        string line = head[..head.IndexOf('\n')].TrimEnd();
        string[] words = line.Split(' ', 3);
        if (words.Length < 2 || !words[0].StartsWith("HTTP/1.", StringComparison.Ordinal)
            || !int.TryParse(words[1], out int status))
        {
            throw new IOException("it does not answer in HTTP");
        }

        if (status is >= 200 and < 300)
        {
            return;
        }

        string reason = TerminalText.OneLine(line[words[0].Length..].Trim(), MaxReason);
        (RpcStatusCode code, string what) = status switch
        {
            407 => (
                RpcStatusCode.Unauthenticated,
                $"it answered '{reason}'. Put the user and the password into the address of the proxy, as "
                + "in http://USER:PASSWORD@HOST:PORT"),
            403 or 405 => (
                RpcStatusCode.PermissionDenied,
                $"it answered '{reason}'. Ask its administrator to allow CONNECT to port {endpoint.Port}"),
            _ => (
                RpcStatusCode.Unavailable, $"it answered '{reason}'. Check the endpoint and the proxy"),
        };
        throw CannotUse(proxy, endpoint, what, null, code);
    }

    private static RpcException CannotUse(
        ProxyRoute proxy, RpcEndpoint endpoint, string what, Exception? inner,
        RpcStatusCode code = RpcStatusCode.Unavailable) =>
        new(
            code, RpcErrorIds.ProxyRefused,
            $"Cannot connect to '{endpoint}' through the proxy '{proxy}': {what}.", endpoint, inner);
}

/// <summary>A proxy between a client and a server.</summary>
/// <param name="Address">Its address, without a password.</param>
/// <param name="Credential">The user that it asks for; null for none.</param>
internal sealed record ProxyRoute(Uri Address, NetworkCredential? Credential)
{
    /// <summary>An address without user and password, for errors.</summary>
    public static string NameOf(Uri address) => $"{address.Scheme}://{address.Authority}";

    /// <summary>The address, for errors.</summary>
    public override string ToString() => NameOf(Address);
}
