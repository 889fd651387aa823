using System.Net;
using System.Net.Http.Headers;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Transports.Http;

/// <summary>If a server does not reply with HTTP, reports the protocol that it uses instead, or why its
/// certificate is not trusted. A server that replied once is not tested again.</summary>
/// <param name="inner">Sends the requests.</param>
/// <param name="endpoint">The server.</param>
/// <param name="trust">The TLS settings.</param>
/// <param name="tls">The options of TLS, with the name that the server is called by.</param>
/// <param name="isDirect">Whether the server is reached without a proxy, so that it can be probed.</param>
internal sealed class DiagnosingHandler(
    HttpMessageHandler inner, RpcEndpoint endpoint, TlsTrust trust,
    RpcTlsOptions tls, Func<bool> isDirect) : WaitingHandler(inner)
{
    private readonly string? _host = tls.ServerName is { } name ? HostOf(name, endpoint) : null;
    private volatile bool _hasAnswered;

    /// <summary>Receives the protocol that the server uses; null for none.</summary>
    public Action<SpokenProtocol>? Found { get; set; }

    protected override ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
    {
        // The HTTP client uses the header Host as the server name of the TLS handshake, even if its options
        // set another name.
        request.Headers.Host ??= _host;

        // The server has replied over HTTP, and without TLS there is no certificate to check.
        return _hasAnswered && !endpoint.IsTls
            ? NextAsync<TWait>(request, cancellation)
            : SendWatchedAsync<TWait>(request, cancellation);
    }

    private async ValueTask<HttpResponseMessage> SendWatchedAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        try
        {
            HttpResponseMessage response = await NextAsync<TWait>(request, cancellation)
                .ConfigureAwait(false);
            if (IsSuspect(response))
            {
                await TWait.WaitAsync(RequireHttpAsync(response, cancellation)).ConfigureAwait(false);
            }

            return response;
        }
        catch (HttpRequestException e) when (IsWorthAsking(e))
        {
            throw await TWait.WaitAsync(ExplainAsync(e, cancellation)).ConfigureAwait(false);
        }
        catch (Exception e) when (IsOfChallenge(e))
        {
            throw Unreadable(e);
        }
    }

    private static HttpRequestException Because(RpcException why, HttpRequestError error) =>
        new(error, why.Message, why);

    // .NET's NTLM does not validate a challenge: malformed base64 or offsets cause these exceptions.
    private static bool IsOfChallenge(Exception e) =>
        e is ArgumentException or FormatException or IndexOutOfRangeException or OverflowException;

    private HttpRequestException Unreadable(Exception error) => Because(
        new RpcException(
            RpcStatusCode.Unauthenticated,
            $"'{endpoint}' sends a challenge for authentication that cannot be read. The server, or a proxy "
            + "before it, is faulty or hostile.", endpoint, error),
        HttpRequestError.UserAuthenticationError);

    // RFC 9110, section 7.2: with the port, unless it is the default port.
    private static string HostOf(string name, RpcEndpoint endpoint)
    {
        string host = name.Contains(':') && !name.StartsWith('[') ? $"[{name}]" : name;
        return endpoint.Port == (endpoint.IsTls ? 443 : 80) ? host : $"{host}:{endpoint.Port}";
    }

    private bool IsWorthAsking(HttpRequestException e) => e.InnerException is not RpcException
        && (IsOfTls(e) || (!_hasAnswered
            && e.HttpRequestError is not (HttpRequestError.ConnectionError
                or HttpRequestError.NameResolutionError
                or HttpRequestError.ProxyTunnelError or HttpRequestError.ConfigurationLimitExceeded)));

    private static bool IsOfTls(HttpRequestException e) =>
        e.HttpRequestError == HttpRequestError.SecureConnectionError;

    // A server that only supports HTTP/2 or TLS may reject the first HTTP/1.1 request with status 400.
    private bool IsSuspect(HttpResponseMessage response)
    {
        if (_hasAnswered || (!endpoint.IsTls && response.StatusCode == HttpStatusCode.BadRequest))
        {
            return !_hasAnswered;
        }

        _hasAnswered = true;
        return false;
    }

    private async Task<SpokenProtocol> FindAsync(CancellationToken cancellation)
    {
        SpokenProtocol found = isDirect()
            ? await ProtocolProbe.FindAsync(endpoint, cancellation).ConfigureAwait(false)
            : SpokenProtocol.Unknown;
        Found?.Invoke(found);
        return found;
    }

    private async ValueTask RequireHttpAsync(HttpResponseMessage response, CancellationToken cancellation)
    {
        SpokenProtocol found = await FindAsync(cancellation).ConfigureAwait(false);
        if (found is SpokenProtocol.Unknown or SpokenProtocol.Http1)
        {
            _hasAnswered = true;
            return;
        }

        response.Dispose();
        throw Because(WrongProtocolErrors.Other(endpoint, found, null), HttpRequestError.InvalidResponse);
    }

    private async Task<HttpRequestException> ExplainAsync(
        HttpRequestException error, CancellationToken cancellation)
    {
        // A server that replied before uses HTTP, but its certificate may have changed.
        Exception cause = error.InnerException ?? error;
        if (IsOfTls(error) && (_hasAnswered || trust.IsDistrust(cause)))
        {
            return Because(trust.Failure(cause), error.HttpRequestError);
        }

        SpokenProtocol found = await FindAsync(cancellation).ConfigureAwait(false);
        bool isAsExpected = found == (endpoint.IsTls ? SpokenProtocol.Tls : SpokenProtocol.Http1);
        return found != SpokenProtocol.Unknown && !isAsExpected
            ? Because(WrongProtocolErrors.Other(endpoint, found, error), error.HttpRequestError)
            : IsOfTls(error) ? Because(trust.Failure(cause), error.HttpRequestError)
            : isAsExpected && endpoint.IsTls
                && error.HttpRequestError is (HttpRequestError.ResponseEnded or HttpRequestError.Unknown)
                ? Because(
                    TlsErrors.HungUp(endpoint, tls, mayHaveExecuted: true, error), error.HttpRequestError)
                : error;
    }
}

/// <summary>A handler whose code is shared by blocking and asynchronous senders.</summary>
internal abstract class WaitingHandler(HttpMessageHandler inner) : DelegatingHandler(inner)
{
    protected sealed override HttpResponseMessage Send(
        HttpRequestMessage request, CancellationToken cancellationToken) =>
        BlockingWait.End(SendAsync<BlockingWait>(request, cancellationToken));

    protected sealed override Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken) =>
        SendAsync<AsyncWait>(request, cancellationToken).AsTask();

    protected abstract ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
        where TWait : struct, IWaitMode;

    /// <summary>Sends the request by the next handler.</summary>
    protected ValueTask<HttpResponseMessage> NextAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
        where TWait : struct, IWaitMode => TWait.IsBlocking
            ? new(base.Send(request, cancellation))
            : new(base.SendAsync(request, cancellation));
}

/// <summary>Names this program in requests.</summary>
internal sealed class NamingHandler(HttpMessageHandler inner) : WaitingHandler(inner)
{
    protected override ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
    {
        UserAgent.Add(request.Headers);
        return NextAsync<TWait>(request, cancellation);
    }
}

/// <summary>Gives the content of replies decompressed. A reply that is cut off fails, where the HTTP client's
/// own decompression would take it as whole.</summary>
/// <param name="inner">Sends the requests.</param>
/// <param name="asks">Whether the server is asked for compressed replies.</param>
internal sealed class DecompressingHandler(HttpMessageHandler inner, bool asks) : WaitingHandler(inner)
{
    private const string AcceptEncoding = "Accept-Encoding";
    private const string ContentEncoding = "Content-Encoding";

    private static readonly string Asked = Protocols.ContentEncoding.Accepted;

    protected override async ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
    {
        if (asks && !request.Headers.NonValidated.Contains(AcceptEncoding))
        {
            request.Headers.TryAddWithoutValidation(AcceptEncoding, Asked);
        }

        HttpResponseMessage response = await NextAsync<TWait>(request, cancellation).ConfigureAwait(false);
        if (EncodingOf(response) is { } encoding)
        {
            Stream body = TWait.IsBlocking
                ? response.Content.ReadAsStream(cancellation)
                : await response.Content.ReadAsStreamAsync(cancellation).ConfigureAwait(false);
            Replace(response, body, encoding);
        }

        return response;
    }

    // Most replies have no such header, so the collection of its values is not created.
    private static string? EncodingOf(HttpResponseMessage response) =>
        response.Content.Headers.NonValidated.Contains(ContentEncoding)
            ? response.Content.Headers.ContentEncoding.LastOrDefault()
            : null;

    private static void Replace(HttpResponseMessage response, Stream body, string encoding)
    {
        if (Decompression.TryOpen(body, encoding) is not { } whole)
        {
            return;
        }

        StreamContent content = new(whole);
        foreach ((string name, IEnumerable<string> values) in response.Content.Headers)
        {
            content.Headers.TryAddWithoutValidation(name, values);
        }

        content.Headers.ContentLength = null;
        content.Headers.ContentEncoding.Clear();
        response.Content = content;
    }
}

/// <summary>Traces the headers of requests and replies. The query is omitted, because it may be a
/// message.</summary>
internal sealed class TracingHandler(HttpMessageHandler inner, RpcTrace trace, RpcEndpoint endpoint)
    : WaitingHandler(inner)
{
    /// <summary>Wraps a handler to trace it; returns the handler itself if there is no trace.</summary>
    public static HttpMessageHandler Around(
        HttpMessageHandler handler, RpcTrace? trace, RpcEndpoint endpoint) =>
        trace is null ? handler : new TracingHandler(handler, trace, endpoint);

    /// <summary>Headers in one line.</summary>
    public static string TextOf(params IEnumerable<HttpHeaders?> sources) => HeaderTrace.TextOf(
        sources.OfType<HttpHeaders>().SelectMany(headers => headers.NonValidated)
            .Select(header => KeyValuePair.Create(header.Key, header.Value.ToString())));

    protected override ValueTask<HttpResponseMessage> SendAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation) => trace.IsEnabled
        ? SendTracedAsync<TWait>(request, cancellation)
        : NextAsync<TWait>(request, cancellation);

    private async ValueTask<HttpResponseMessage> SendTracedAsync<TWait>(
        HttpRequestMessage request, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        Trace(request);
        HttpResponseMessage response = await NextAsync<TWait>(request, cancellation).ConfigureAwait(false);
        Trace(response);
        return response;
    }

    private void Trace(HttpRequestMessage request)
    {
        string path = request.RequestUri?.AbsolutePath ?? "";
        string query = request.RequestUri is { Query.Length: > 1 } uri
            ? $"?({uri.Query.Length - 1} characters)"
            : "";
        trace.Add(
            isSent: true, endpoint,
            $"{request.Method} {path}{query} HTTP/{request.Version}, {SizeOf(request.Content)}"
            + TextOf(request.Headers, request.Content?.Headers));
    }

    private void Trace(HttpResponseMessage response) => trace.Add(
        isSent: false, endpoint,
        $"HTTP/{response.Version} {(int)response.StatusCode}, {SizeOf(response.Content)}"
        + TextOf(response.Headers, response.Content.Headers));

    private static string SizeOf(HttpContent? content) =>
        content?.Headers.ContentLength is { } length ? $"body {length} bytes" : "body of unknown length";
}
