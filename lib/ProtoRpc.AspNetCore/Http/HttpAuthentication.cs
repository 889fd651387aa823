using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using System.Text;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using ProtoRpc.Security;
using ProtoRpc.Transports.Http;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Authenticates the sender of a request, before the request is processed.</summary>
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

    /// <summary>Creates the authentication for endpoints of an application, whose own authentication runs
    /// first.</summary>
    /// <param name="security">The additionally accepted credentials.</param>
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
                RpcStatusCode.FailedPrecondition, RpcErrorIds.UnencryptedEndpoint,
                $"'{endpoint}' would receive passwords and tokens unencrypted over the network. "
                + "Use TLS with a certificate.", endpoint);
        }
    }

    /// <summary>Creates the authentication for gRPC endpoints. They support no handshakes, which authenticate
    /// a connection, because many callers can share one in HTTP/2.</summary>
    /// <param name="security">The accepted credentials.</param>
    /// <param name="server">Whether the server serves callers without a proof.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <exception cref="RpcException">FailedPrecondition:
    /// passwords would go in clear over a network.</exception>
    public static HttpAuthentication OfGrpc(
        HttpServerSecurity security, RpcServerSecurity server, RpcEndpoint endpoint) => new(
        security, SecurityPolicy.Open, server.Authentication.HasFlag(RpcAuthentication.None), endpoint)
        {
            Allowed = AllowedAccounts.Resolve(endpoint, server),
        };

    // The accounts that may connect; null if only the endpoint restricts callers.
    private AllowedAccounts? Allowed { get; init; }

    /// <summary>Whether callers authenticate with credentials that a browser has or a page can guess:
    /// passwords, certificates, or the user's account.</summary>
    public bool HasPasswords => _security.Basic is not null || _security.AcceptsCertificates
        || _negotiate.Offered.Any();

    /// <summary>Describes the accepted credentials for the endpoint's OpenAPI document.</summary>
    public RpcOpenApiOptions Describe() => new()
    {
        HttpSchemes =
        [
            .. _security.Bearer is null ? Array.Empty<string>() : ["bearer"],
            .. _security.Basic is null ? Array.Empty<string>() : ["basic"],
            .. _negotiate.Offered,
        ],
        AcceptsCertificates = AcceptsCertificates,
        AllowsAnonymous = _allowsAnonymous,
    };

    /// <summary>The sender of a request: the unchanged peer, or the peer with the authenticated
    /// identity.</summary>
    /// <exception cref="HttpRefusal">401, with what may be presented; 403 for an account that may not
    /// connect.</exception>
    public async ValueTask<PeerIdentity> CheckAsync(HttpContext http, PeerIdentity peer)
    {
        if (Allowed is not null && !(ConnectionPeer.From(http).IsAdmitted ??= Allowed.Admit(peer)))
        {
            throw new HttpRefusal(
                StatusCodes.Status403Forbidden, RpcStatusCode.PermissionDenied,
                $"The account '{peer.User.Name}' may not connect. {AllowedAccounts.Advice}");
        }

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

    // A connection that was authenticated by NTLM or Negotiate stays authenticated; otherwise each request
    // needs credentials. The process at the other end of a Unix socket may be a proxy, so its account does
    // not replace the check of each caller.
    private bool IsKnown(HttpContext http, PeerIdentity peer) =>
        peer.User.IsAuthenticated && http.Request.Headers.Authorization.Count == 0
        && (_security.IsOpen || ConnectionPeer.From(http).IsProved);

    // A proxy sends the requests of several clients over one connection. The check also applies without
    // authentication: otherwise the caller who authenticated would become anonymous without an error.
    private static bool IsOfAnother(HttpContext http, PeerIdentity peer)
    {
        IHeaderDictionary headers = http.Request.Headers;
        bool isForwarded = headers.ContainsKey("Via") || headers.ContainsKey("Forwarded")
            || headers.ContainsKey("X-Forwarded-For");
        return isForwarded && peer.User.IsAuthenticated && headers.Authorization.ToString().Length == 0
            && ConnectionPeer.From(http).IsProved;
    }

    private HttpRefusal Refused(bool presented) => new(
        StatusCodes.Status401Unauthorized,
        RpcStatusCode.Unauthenticated,
        presented
            ? "The user, password, token or certificate that came with the call is not accepted."
            : $"'{_endpoint}' requires authentication{Accepted()}.");

    private string Accepted()
    {
        string?[] ways =
        [
            _security.Basic is null ? null : "Basic",
            _security.Bearer is null ? null : "Bearer",
            .. _negotiate.Offered,
            AcceptsCertificates ? "a client certificate" : null,
        ];
        string accepted = string.Join(", ", ways.OfType<string>());
        return accepted.Length == 0 ? "" : $": {accepted}";
    }

    private async ValueTask<(bool Presented, IIdentity? User)> IdentifyAsync(HttpContext http)
    {
        string header = http.Request.Headers.Authorization.ToString();
        if (header.Length > 0)
        {
            bool isTooLong = header.Length > MaxHeaderLength;
            return (true, isTooLong ? null : await OfHeaderAsync(http, header).ConfigureAwait(false));
        }

        if (!_security.AcceptsCertificates
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

        return (true, await OfCertificateAsync(http, certificate).ConfigureAwait(false));
    }

    private ValueTask<IIdentity?> OfCertificateAsync(HttpContext http, X509Certificate2 certificate) =>
        _security.ClientCaCertificates is { } authorities
            && !IsIssued(http, authorities, certificate) ? default
        : _security.ClientCertificate is { } check ? AskAsync(check, certificate, http)
        : new(new GenericIdentity(CallerCertificate.NameOf(certificate), "Certificate"));

    // Cached, because building a chain takes longer than most calls.
    private static bool IsIssued(
        HttpContext http, X509Certificate2Collection authorities, X509Certificate2 certificate)
    {
        ConnectionPeer connection = ConnectionPeer.From(http);
        if (connection.Verdict is not { } verdict || !verdict.IsAbout(authorities, certificate))
        {
            connection.Verdict = verdict = CertificateVerdict.Create(authorities, certificate);
        }

        return verdict.IsIssued;
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

    // A check may call other servers. Their errors contain names that the caller must not see.
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

    // The user name ends at the first colon; the password may contain further colons.
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

    private bool AcceptsCertificates => _security.AcceptsCertificates && _endpoint.IsTls;

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
        if (AcceptsCertificates)
        {
            response.Headers.Append("WWW-Authenticate", $"{CallerProof.CertificateScheme} realm=\"{Realm}\"");
        }
    }
}

/// <summary>Negotiate and NTLM over HTTP (RFC 4559): tokens in headers authenticate the whole
/// connection.</summary>
internal sealed class NegotiateHandshake(SecurityPolicy policy)
{
    // Mechanisms that negotiate others are last in the table, but offered first.
    private static readonly (string Scheme, byte Package)[] Schemes =
    [
        .. SecurityMechanisms.All.Where(mechanism => mechanism.HttpScheme is not null)
            .Select(mechanism => (mechanism.HttpScheme!, mechanism.Package)).Reverse(),
    ];

    /// <summary>The accepted authentication schemes.</summary>
    public IEnumerable<string> Offered =>
        Schemes.Where(scheme => policy.Offers(scheme.Package)).Select(scheme => scheme.Scheme);

    /// <summary>Sends the accepted authentication schemes to a client.</summary>
    public void Challenge(HttpResponse response)
    {
        foreach (string scheme in Offered)
        {
            response.Headers.Append("WWW-Authenticate", scheme);
        }
    }

    /// <summary>Processes the token of a request, if it has one of an accepted scheme.</summary>
    /// <param name="http">The request.</param>
    /// <param name="proved">The identity, if the authentication is complete. If it is null, the reply
    /// contains the next token.</param>
    /// <returns>Whether the request had a token.</returns>
    public bool TryStep(HttpContext http, out PeerIdentity? proved)
    {
        proved = null;
        string header = http.Request.Headers.Authorization.ToString();
        foreach ((string scheme, byte package) in Schemes)
        {
            if (header.StartsWith(scheme + " ", StringComparison.OrdinalIgnoreCase) && policy.Offers(package))
            {
                proved = Step(http, scheme, package, header[(scheme.Length + 1)..].Trim());
                return true;
            }
        }

        return false;
    }

    private static void End(ConnectionPeer connection)
    {
        connection.Handshake?.Dispose();
        connection.Handshake = null;
    }

    // The certificate of this connection. The listener's may have been replaced since.
    private static byte[]? BindingOf(HttpContext http) =>
        http.Features.Get<ISslStreamFeature>()?.SslStream.LocalCertificate is X509Certificate2 certificate
            ? TlsEndPoint.BindingOf(certificate)
            : null;

    private PeerIdentity? Step(HttpContext http, string scheme, byte package, string token)
    {
        ConnectionPeer connection = ConnectionPeer.From(http);
        SecurityContext handshake = connection.Handshake ??= policy.TryBegin(package, BindingOf(http))!;
        try
        {
            byte[] answer = handshake.Step(Convert.FromBase64String(token));
            if (answer.Length > 0 || !handshake.IsComplete)
            {
                http.Response.Headers.WWWAuthenticate =
                    $"{scheme} {Convert.ToBase64String(answer)}".TrimEnd();
            }

            if (!handshake.IsComplete)
            {
                return null;
            }

            connection.Identity = connection.Identity! with { User = handshake.Identity };
            connection.IsProved = true;
            End(connection);
            return connection.Identity;
        }
        catch (Exception e) when (e is RpcException or FormatException or CryptographicException)
        {
            // CryptographicException: for example, a system in FIPS mode does not provide NTLM's MD5.
            End(connection);
            Challenge(http.Response);
            return null;
        }
    }
}

/// <summary>Reads and validates certificates of callers.</summary>
internal static class CallerCertificate
{
    // TLS Web Client Authentication, RFC 5280 section 4.2.1.12.
    private const string ClientAuthentication = "1.3.6.1.5.5.7.3.2";

    /// <summary>Whether one of the authorities issued a certificate for client authentication, and it is
    /// valid now.</summary>
    public static bool IsIssuedBy(X509Certificate2Collection authorities, X509Certificate2 certificate)
    {
        using X509Chain chain = new() { ChainPolicy = CallerChain.NewPolicy() };
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.AddRange(authorities);
        chain.ChainPolicy.ApplicationPolicy.Add(new Oid(ClientAuthentication));
        try
        {
            return chain.Build(certificate);
        }
        finally
        {
            // The chain does not dispose the certificates that it created.
            foreach (X509ChainElement element in chain.ChainElements)
            {
                element.Certificate.Dispose();
            }
        }
    }

    /// <summary>The caller's name: the common name, as a rule. An identity without a name would be
    /// anonymous.</summary>
    public static string NameOf(X509Certificate2 certificate) =>
        certificate.GetNameInfo(X509NameType.SimpleName, forIssuer: false) is { Length: > 0 } common ? common
        : certificate.GetNameInfo(X509NameType.DnsName, forIssuer: false) is { Length: > 0 } host ? host
        : certificate.Thumbprint;

    /// <summary>Whether a certificate can issue others (RFC 5280, sections 4.2.1.3 and 4.2.1.9). A check that
    /// only builds the chain would accept the authority itself, and every authority below it.</summary>
    public static bool IsAuthority(X509Certificate2 certificate)
    {
        try
        {
            return certificate.Extensions.Any(static extension => extension switch
            {
                X509BasicConstraintsExtension basic => basic.CertificateAuthority,
                X509KeyUsageExtension usage => usage.KeyUsages.HasFlag(X509KeyUsageFlags.KeyCertSign),
                _ => false,
            });
        }
        catch (CryptographicException)
        {
            // An unreadable extension may declare an authority, so the certificate is treated as one.
            return true;
        }
    }
}

/// <summary>Whether authorities issued a certificate, as found a moment ago.</summary>
/// <remarks>A proxy can present another certificate with each request of a connection, and a connection of an
/// application can lead to servers with other authorities.</remarks>
/// <param name="authorities">The authorities.</param>
/// <param name="certificate">The certificate's bytes.</param>
/// <param name="until">When to look again.</param>
/// <param name="isIssued">The verdict.</param>
internal sealed class CertificateVerdict(
    X509Certificate2Collection authorities, byte[] certificate, DateTime until, bool isIssued)
{
    // The result is checked again after this time, because authorities can be removed and certificates expire
    // during a connection.
    private static readonly TimeSpan MaxAge = TimeSpan.FromMinutes(1);

    public bool IsIssued => isIssued;

    public static CertificateVerdict Create(
        X509Certificate2Collection authorities, X509Certificate2 certificate)
    {
        DateTime latest = DateTime.UtcNow + MaxAge;
        DateTime expires = certificate.NotAfter.ToUniversalTime();
        return new CertificateVerdict(
            authorities, certificate.RawData, expires < latest ? expires : latest,
            CallerCertificate.IsIssuedBy(authorities, certificate));
    }

    /// <summary>Whether the verdict can be used.</summary>
    public bool IsAbout(X509Certificate2Collection issuers, X509Certificate2 presented) =>
        ReferenceEquals(issuers, authorities) && DateTime.UtcNow < until
        && presented.RawDataMemory.Span.SequenceEqual(certificate);
}

/// <summary>The identity of a connection's peer, which is kept between requests.</summary>
internal sealed class ConnectionPeer
{
    private static readonly object Key = new();

    /// <summary>The identity, as far as it is known.</summary>
    public PeerIdentity? Identity { get; set; }

    /// <summary>Whether the account may connect; null if it has not been asked yet.</summary>
    public bool? IsAdmitted { get; set; }

    /// <summary>The last verdict about a certificate; null for none.</summary>
    public CertificateVerdict? Verdict { get; set; }

    /// <summary>Whether an authentication on this connection has proved the identity.</summary>
    public bool IsProved { get; set; }

    /// <summary>The authentication that has begun on the connection.</summary>
    public SecurityContext? Handshake { get; set; }

    /// <summary>The sender of a request, as identified by its connection.</summary>
    public static PeerIdentity IdentityOf(HttpContext http)
    {
        ConnectionPeer connection = From(http);
        return connection.Identity ??= Read(http);
    }

    /// <summary>Gives a new connection its entry, before its first request.</summary>
    public static void AddTo(IDictionary<object, object?> items) => items[Key] = new ConnectionPeer();

    /// <summary>The entry of a request's connection.</summary>
    public static ConnectionPeer From(HttpContext http)
    {
        IDictionary<object, object?> items =
            http.Features.GetRequiredFeature<IConnectionItemsFeature>().Items;

        // The connections of an application get their entry at the first request. Requests of HTTP/2 run in
        // parallel, and the table is not thread-safe.
        lock (items)
        {
            if (items.TryGetValue(Key, out object? known))
            {
                return (ConnectionPeer)known!;
            }

            ConnectionPeer peer = new();
            items[Key] = peer;
            return peer;
        }
    }

    private static PeerIdentity Read(HttpContext http)
    {
        if (http.Connection.RemoteIpAddress is { } ip)
        {
            PeerIdentity caller =
                PeerIdentity.Anonymous(new IPEndPoint(ip, http.Connection.RemotePort).ToString());
            return http.Request.IsHttps
                ? caller with { ProtectionLevel = RpcProtectionLevel.Privacy }
                : caller;
        }

        // The operating system identifies the peer of a Unix socket.
        return http.Features.Get<IConnectionSocketFeature>() is { Socket: { } socket }
            ? UnixPeer.Read(socket)
            : PeerIdentity.Anonymous("");
    }
}
