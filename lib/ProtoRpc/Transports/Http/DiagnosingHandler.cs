using System.Net;

namespace ProtoRpc.Transports.Http;

/// <summary>Says of a server that does not answer in HTTP what it speaks instead, or why it is not trusted. A
/// server that answered once is not asked again.</summary>
/// <param name="inner">Sends the requests.</param>
/// <param name="endpoint">The server.</param>
/// <param name="trust">What the handshakes of TLS are made with.</param>
/// <param name="serverName">The name that the certificate has, and that the server is called by; null for
/// the host.</param>
/// <param name="isDirect">Whether the server is reached without a proxy, so that it can be probed.</param>
internal sealed class DiagnosingHandler(
    HttpMessageHandler inner, RpcEndpoint endpoint, TlsTrust trust,
    string? serverName, Func<bool> isDirect) : DelegatingHandler(inner)
{
    private readonly string? _host = serverName is null ? null : HostOf(serverName, endpoint);
    private volatile bool _hasAnswered;

    protected override HttpResponseMessage Send(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        Name(request);
        try
        {
            HttpResponseMessage response = base.Send(request, cancellationToken);
            if (IsSuspect(response))
            {
                RequireHttpAsync(response, cancellationToken).GetAwaiter().GetResult();
            }

            return response;
        }
        catch (HttpRequestException e) when (IsWorthAsking(e))
        {
            throw ExplainAsync(e, cancellationToken).GetAwaiter().GetResult();
        }
        catch (Exception e) when (IsOfChallenge(e))
        {
            throw Unreadable(e);
        }
    }

    protected override Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        Name(request);

        // Without TLS there is nothing more to say of a server that has answered.
        return _hasAnswered && !endpoint.IsTls
            ? base.SendAsync(request, cancellationToken)
            : SendWatchedAsync(request, cancellationToken);
    }

    private async Task<HttpResponseMessage> SendWatchedAsync(
        HttpRequestMessage request, CancellationToken cancellation)
    {
        try
        {
            HttpResponseMessage response = await base.SendAsync(request, cancellation).ConfigureAwait(false);
            if (IsSuspect(response))
            {
                await RequireHttpAsync(response, cancellation).ConfigureAwait(false);
            }

            return response;
        }
        catch (HttpRequestException e) when (IsWorthAsking(e))
        {
            throw await ExplainAsync(e, cancellation).ConfigureAwait(false);
        }
        catch (Exception e) when (IsOfChallenge(e))
        {
            throw Unreadable(e);
        }
    }

    private static HttpRequestException Because(RpcException why, HttpRequestError error) =>
        new(error, why.Message, why);

    // .NET's own NTLM reads a challenge without looking where its parts end, or whether it is base64.
    private static bool IsOfChallenge(Exception e) =>
        e is ArgumentException or FormatException or IndexOutOfRangeException or OverflowException;

    private HttpRequestException Unreadable(Exception error) => Because(
        new RpcException(
            RpcStatusCode.Unauthenticated,
            $"'{endpoint}' sends a challenge for authentication that cannot be read. The server, or what is "
            + "between it and here, is broken or hostile.",
            error)
        {
            Endpoint = endpoint,
        },
        HttpRequestError.UserAuthenticationError);

    // The HTTP client uses the header Host as the server name of the TLS handshake, even if its options set
    // another name.
    private void Name(HttpRequestMessage request) => request.Headers.Host ??= _host;

    // RFC 9110, section 7.2: with the port, unless it is the usual one.
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

    // Servers of HTTP/2 alone, and of TLS, refuse the first request so.
    private bool IsSuspect(HttpResponseMessage response)
    {
        if (_hasAnswered || (!endpoint.IsTls && response.StatusCode == HttpStatusCode.BadRequest))
        {
            return !_hasAnswered;
        }

        _hasAnswered = true;
        return false;
    }

    private Task<SpokenProtocol> FindAsync(CancellationToken cancellation) => isDirect()
        ? ProtocolProbe.FindAsync(endpoint, cancellation)
        : Task.FromResult(SpokenProtocol.Unknown);

    private async Task RequireHttpAsync(HttpResponseMessage response, CancellationToken cancellation)
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
        // A server that answered once speaks HTTP, but may have another certificate by now.
        Exception cause = error.InnerException ?? error;
        if (IsOfTls(error) && (_hasAnswered || trust.IsDistrust(cause)))
        {
            return Because(trust.Failure(cause), error.HttpRequestError);
        }

        SpokenProtocol found = await FindAsync(cancellation).ConfigureAwait(false);
        bool isAsExpected = found == (endpoint.IsTls ? SpokenProtocol.Tls : SpokenProtocol.Http1);
        return found != SpokenProtocol.Unknown && !isAsExpected
            ? Because(WrongProtocolErrors.Other(endpoint, found, error), error.HttpRequestError)
            : IsOfTls(error) ? Because(trust.Failure(cause), error.HttpRequestError) : error;
    }
}
