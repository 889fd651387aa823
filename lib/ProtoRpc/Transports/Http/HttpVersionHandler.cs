using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>Selects the HTTP version of each request. With TLS, the server selects it in the handshake.
/// Without TLS it is HTTP/1.1, unless the first request shows that the server only supports HTTP/2. Streams
/// in both directions always use HTTP/2.</summary>
/// <param name="inner">Sends the requests.</param>
/// <param name="endpoint">The server.</param>
/// <param name="prefersHttp2">Whether requests over TLS can use HTTP/2. NTLM and Kerberos authenticate a
/// connection, which several callers can share in HTTP/2.</param>
internal sealed class HttpVersionHandler(HttpMessageHandler inner, RpcEndpoint endpoint, bool prefersHttp2)
    : WaitingHandler(inner)
{
    private volatile SpokenProtocol _found;
    private volatile bool _isHttp2Alone;
    private volatile bool _hasSpokenHttp2;

    /// <summary>The option of a request whose response begins before its body ends.</summary>
    public static HttpRequestOptionsKey<bool> IsDuplex { get; } = new("ProtoRpc.IsDuplex");

    /// <summary>Stores the protocol of a server that did not reply with HTTP/1.1.</summary>
    public void Remember(SpokenProtocol found) => _found = found;

    protected override async ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
    {
        if (request.Options.TryGetValue(IsDuplex, out bool isDuplex) && isDuplex)
        {
            return await SendDuplexAsync<TWait>(request, cancellation).ConfigureAwait(false);
        }

        if (_isHttp2Alone || prefersHttp2)
        {
            return await SendHttp2Async<TWait>(request, _isHttp2Alone, cancellation).ConfigureAwait(false);
        }

        try
        {
            return await NextAsync<TWait>(request, cancellation).ConfigureAwait(false);
        }
        catch (HttpRequestException) when (
            !endpoint.IsTls && _found == SpokenProtocol.Http2 && IsRepeatable(request))
        {
            // The server rejected HTTP/1.1 without reading the request, so the call does not run twice.
            HttpResponseMessage response = await SendHttp2Async<TWait>(request, isAlone: true, cancellation)
                .ConfigureAwait(false);
            _isHttp2Alone = true;
            return response;
        }
    }

    // A streamed body has no length and cannot be sent again.
    private static bool IsRepeatable(HttpRequestMessage request) =>
        request.Content is null || request.Content.Headers.ContentLength is not null;

    private async ValueTask<HttpResponseMessage> SendDuplexAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        try
        {
            return await SendHttp2Async<TWait>(request, isAlone: true, cancellation).ConfigureAwait(false);
        }
        catch (HttpRequestException e) when (!_hasSpokenHttp2 && IsOfVersion(e))
        {
            RpcException why = WrongProtocolErrors.NeedsHttp2(endpoint, e);
            throw new HttpRequestException(HttpRequestError.VersionNegotiationError, why.Message, why);
        }
    }

    private static bool IsOfVersion(HttpRequestException e) =>
        e.InnerException is not RpcException { ErrorId: not RpcErrorIds.WrongProtocol }
        && e.HttpRequestError is not (HttpRequestError.ConnectionError or HttpRequestError.NameResolutionError
            or HttpRequestError.ProxyTunnelError or HttpRequestError.SecureConnectionError
            or HttpRequestError.ConfigurationLimitExceeded or HttpRequestError.UserAuthenticationError);

    // The HTTP client has no blocking form of HTTP/2.
    private async ValueTask<HttpResponseMessage> SendHttp2Async<TWait>(
        HttpRequestMessage request, bool isAlone, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        request.Version = HttpVersion.Version20;
        request.VersionPolicy = isAlone
            ? HttpVersionPolicy.RequestVersionExact
            : HttpVersionPolicy.RequestVersionOrLower;
        HttpResponseMessage response = await TWait
            .WaitAsync(NextAsync<AsyncWait>(request, cancellation).AsTask()).ConfigureAwait(false);
        _hasSpokenHttp2 |= response.Version.Major > 1;
        return response;
    }
}
