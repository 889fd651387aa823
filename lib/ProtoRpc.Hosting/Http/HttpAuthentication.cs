using System.Net;
using System.Security.Principal;
using System.Text;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Security;
using ProtoRpc.Server;
using ProtoRpc.Transports;

namespace ProtoRpc.Hosting.Http;

/// <summary>Finds out who sends a request, before anything looks at what it asks for.</summary>
internal sealed class HttpAuthentication
{
    private const int MaxHeaderLength = 16 * 1024;
    private const string Realm = "ProtoRpc";

    private readonly HttpServerSecurity _security;
    private readonly NegotiateHandshake _negotiate;
    private readonly RpcEndpoint _endpoint;
    private readonly bool _isOfApplication;
    private readonly bool _isOpen;
    private readonly bool _allowsAnonymous;

    /// <summary>The authentication on endpoints of an application, whose own one comes first.</summary>
    /// <param name="security">What else may be presented.</param>
    /// <param name="allowsAnonymous">Whether the server serves callers without a proof.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <exception cref="RpcException">FailedPrecondition:
    /// passwords would go in clear over a network.</exception>
    public HttpAuthentication(HttpServerSecurity security, bool allowsAnonymous, RpcEndpoint endpoint)
        : this(security, SecurityPolicy.Open, allowsAnonymous, endpoint)
    {
        _isOfApplication = true;
    }

    /// <exception cref="RpcException">FailedPrecondition:
    /// passwords would go in clear over a network.</exception>
    public HttpAuthentication(HttpServerSecurity security, SecurityPolicy policy, RpcEndpoint endpoint)
        : this(security, policy, policy.AllowsAnonymous, endpoint)
    {
    }

    private HttpAuthentication(
        HttpServerSecurity security, SecurityPolicy policy, bool allowsAnonymous, RpcEndpoint endpoint)
    {
        _security = security;
        _negotiate = new NegotiateHandshake(policy);
        _endpoint = endpoint;
        _isOpen = security.IsOpen && !policy.OffersMechanisms;
        _allowsAnonymous = allowsAnonymous && (security.IsOpen || security.AllowAnonymous);
        bool isPlain = !endpoint.IsTls && !endpoint.IsLocalOnly && !HttpTransport.IsLoopback(endpoint.Host);
        if (isPlain && (security.Basic is not null || security.Bearer is not null))
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"'{endpoint}' would receive passwords and tokens unencrypted over the network. "
                + "Use TLS with a certificate.")
            {
                ErrorId = RpcErrorIds.UnencryptedEndpoint,
                Endpoint = endpoint,
            };
        }
    }

    /// <summary>The authentication on gRPC endpoints, which have no handshakes: those prove who a connection
    /// is, and HTTP/2 lets many callers share one.</summary>
    /// <param name="security">What may be presented.</param>
    /// <param name="server">Whether the server serves callers without a proof.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <exception cref="RpcException">FailedPrecondition:
    /// passwords would go in clear over a network.</exception>
    public static HttpAuthentication OfGrpc(
        HttpServerSecurity security, RpcServerSecurity server, RpcEndpoint endpoint) => new(
        security, SecurityPolicy.Open, server.Authentication.HasFlag(RpcAuthentication.None), endpoint);

    /// <summary>Who sends a request: the peer as it is, or with the identity that was proved.</summary>
    /// <exception cref="HttpRefusal">401, with what may be presented.</exception>
    public async ValueTask<PeerIdentity> CheckAsync(HttpContext http, PeerIdentity peer)
    {
        if (_isOfApplication)
        {
            if (peer.User.IsAuthenticated)
            {
                return peer;
            }

            if (_isOpen && !_allowsAnonymous)
            {
                throw Refused(presented: false);
            }
        }

        if (IsOfAnother(http, peer))
        {
            Challenge(http.Response);
            throw new HttpRefusal(
                StatusCodes.Status401Unauthorized,
                RpcStatusCode.Unauthenticated,
                "The request came through a proxy on a connection that another request authenticated. "
                + "Requests through a proxy must authenticate themselves.");
        }

        if ((_isOpen && _allowsAnonymous) || IsKnown(http, peer))
        {
            return peer;
        }

        if (_negotiate.TryStep(http, out PeerIdentity? proved))
        {
            HttpConnection.SetKnown(http, proved is not null);
            return proved ?? throw Refused(presented: true);
        }

        (bool presented, IIdentity? user) = await IdentifyAsync(http).ConfigureAwait(false);
        if (user is not null)
        {
            HttpConnection.SetKnown(http, true);
            return peer with { User = user };
        }

        if (!presented && _allowsAnonymous)
        {
            return peer;
        }

        Challenge(http.Response);
        throw Refused(presented);
    }

    // A connection that proved it keeps its name; others prove each request. The process on the other side
    // of a Unix socket can be a proxy, so its account does not stand in for a check of each caller.
    private bool IsKnown(HttpContext http, PeerIdentity peer) =>
        peer.User.IsAuthenticated && http.Request.Headers.Authorization.Count == 0
        && (_security.IsOpen || ConnectionPeer.Of(http).IsProved);

    // A proxy sends the requests of several clients on one connection. With None as well: the caller whose
    // handshake it was would otherwise become anonymous without a word.
    private static bool IsOfAnother(HttpContext http, PeerIdentity peer)
    {
        IHeaderDictionary headers = http.Request.Headers;
        bool isForwarded = headers.ContainsKey("Via") || headers.ContainsKey("Forwarded")
            || headers.ContainsKey("X-Forwarded-For");
        return isForwarded && peer.User.IsAuthenticated && headers.Authorization.ToString().Length == 0
            && ConnectionPeer.Of(http).IsProved;
    }

    private HttpRefusal Refused(bool presented) => new(
        StatusCodes.Status401Unauthorized,
        RpcStatusCode.Unauthenticated,
        presented
            ? "The user, password, token or certificate that came with the call is not accepted."
            : $"'{_endpoint}' requires authentication.");

    private async ValueTask<(bool Presented, IIdentity? User)> IdentifyAsync(HttpContext http)
    {
        string header = http.Request.Headers.Authorization.ToString();
        if (header.Length > 0)
        {
            bool isTooLong = header.Length > MaxHeaderLength;
            return (true, isTooLong ? null : await OfHeaderAsync(http, header).ConfigureAwait(false));
        }

        if (_security.ClientCertificate is not { } check
            || http.Connection.ClientCertificate is not { } certificate)
        {
            return default;
        }

        if (CallerCertificate.IsAuthority(certificate))
        {
            Challenge(http.Response);
            throw new HttpRefusal(
                StatusCodes.Status401Unauthorized,
                RpcStatusCode.Unauthenticated,
                "The client certificate is that of a certificate authority, which does not identify a "
                + "caller. Use a certificate without the right to issue others (basicConstraints CA:FALSE).");
        }

        return (true, await AskAsync(check, certificate, http).ConfigureAwait(false));
    }

    private ValueTask<IIdentity?> OfHeaderAsync(HttpContext http, string header)
    {
        int space = header.IndexOf(' ');
        string scheme = space < 0 ? header : header[..space];
        string value = space < 0 ? "" : header[(space + 1)..].Trim();
        if (scheme.Equals("Basic", StringComparison.OrdinalIgnoreCase) && _security.Basic is { } basic)
        {
            return ReadBasic(value) is { } credential ? AskAsync(basic, credential, http) : default;
        }

        return scheme.Equals("Bearer", StringComparison.OrdinalIgnoreCase)
            && _security.Bearer is { } bearer
            && value.Length > 0
                ? AskAsync(bearer, value, http)
                : default;
    }

    // The errors of other calls that a check makes name servers that the caller must not see.
    private static async ValueTask<IIdentity?> AskAsync<TProof>(
        HttpCallerCheck<TProof> check, TProof proof, HttpContext http)
    {
        try
        {
            return await check(proof, http.RequestAborted).ConfigureAwait(false);
        }
        catch (Exception e) when (!http.RequestAborted.IsCancellationRequested
            && e is not HttpRefusal && !CallerCheckFailure.IsForCaller(e))
        {
            throw new CallerCheckFailure(e);
        }
    }

    // The user name ends at the first colon; the password may have more.
    private static NetworkCredential? ReadBasic(string value)
    {
        byte[] bytes = new byte[value.Length];
        if (!Convert.TryFromBase64String(value, bytes, out int length))
        {
            return null;
        }

        string pair = Encoding.UTF8.GetString(bytes, 0, length);
        int colon = pair.IndexOf(':');
        return colon < 0 ? null : new NetworkCredential(pair[..colon], pair[(colon + 1)..]);
    }

    private void Challenge(HttpResponse response)
    {
        if (_security.Basic is not null)
        {
            response.Headers.Append("WWW-Authenticate", $"Basic realm=\"{Realm}\", charset=\"UTF-8\"");
        }

        if (_security.Bearer is not null)
        {
            response.Headers.Append("WWW-Authenticate", $"Bearer realm=\"{Realm}\"");
        }

        _negotiate.Challenge(response);
    }
}
