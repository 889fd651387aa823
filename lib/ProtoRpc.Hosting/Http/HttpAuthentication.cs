using System.Net;
using System.Security.Principal;
using System.Text;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Security;
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
        : this(security, SecurityPolicy.Open, endpoint)
    {
        _isOfApplication = true;
        _allowsAnonymous &= allowsAnonymous;
    }

    /// <exception cref="RpcException">FailedPrecondition:
    /// passwords would go in clear over a network.</exception>
    public HttpAuthentication(HttpServerSecurity security, SecurityPolicy policy, RpcEndpoint endpoint)
    {
        _security = security;
        _negotiate = new NegotiateHandshake(policy);
        _endpoint = endpoint;
        _isOpen = security.IsOpen && !policy.OffersMechanisms;
        _allowsAnonymous = policy.AllowsAnonymous && (security.IsOpen || security.AllowAnonymous);
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

        // A connection that proved it keeps its name; others prove each request.
        if (_isOpen || (peer.User.IsAuthenticated && http.Request.Headers.Authorization.Count == 0))
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
        _negotiate.Challenge(http.Response);
        throw Refused(presented);
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

        return _security.ClientCertificate is { } check
            && http.Connection.ClientCertificate is { } certificate
                ? (true, await check(certificate, http.RequestAborted).ConfigureAwait(false))
                : default;
    }

    private ValueTask<IIdentity?> OfHeaderAsync(HttpContext http, string header)
    {
        int space = header.IndexOf(' ');
        string scheme = space < 0 ? header : header[..space];
        string value = space < 0 ? "" : header[(space + 1)..].Trim();
        if (scheme.Equals("Basic", StringComparison.OrdinalIgnoreCase) && _security.Basic is { } basic)
        {
            return ReadBasic(value) is { } credential ? basic(credential, http.RequestAborted) : default;
        }

        return scheme.Equals("Bearer", StringComparison.OrdinalIgnoreCase)
            && _security.Bearer is { } bearer
            && value.Length > 0
                ? bearer(value, http.RequestAborted)
                : default;
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
    }
}
