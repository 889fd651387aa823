using System.Collections.Frozen;
using System.Globalization;
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Microsoft.Extensions.Primitives;
using ProtoRpc.Protocols.Http;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>The names by which an endpoint is called, as the Host header or :authority gives them.</summary>
/// <remarks>
/// A web page's name server can resolve the page's name to 127.0.0.1 (DNS rebinding). For the browser, the
/// page and a loopback endpoint then have the same origin. Only the host name in the request differs.
/// </remarks>
internal sealed class HostPolicy
{
    private const string AllNames = "*";
    private const string Subdomains = "*.";

    private readonly StringSegment[] _allowed;
    private readonly bool _isLoopback;
    private readonly bool _takesAll;

    // Most requests have the same host as the previous one, and Kestrel reuses the string for a connection.
    private string? _lastAllowed;

    /// <param name="options">The names that are allowed.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="isLocalOnly">Whether no network reaches it.</param>
    /// <exception cref="RpcException">InvalidArgument: an allowed host is not a host name.</exception>
    public HostPolicy(HttpServerOptions options, RpcEndpoint endpoint, bool isLocalOnly = false)
    {
        _allowed = [.. options.AllowedHosts.Select(name => new StringSegment(Normalize(name, endpoint)))];
        _isLoopback = HttpTransport.IsLoopback(endpoint.Host);

        // Browsers cannot connect to Unix sockets, and gRPC clients send arbitrary host names over them.
        _takesAll = isLocalOnly || endpoint.IsLocalOnly || (!_isLoopback && _allowed.Length == 0);
    }

    /// <summary>The name of the setting that allows host names, for errors.</summary>
    public string Setting { get; init; } = "the allowed hosts of the listener (AllowedHost)";

    /// <summary>Whether a request calls the endpoint by one of its names.</summary>
    public bool Allows(HttpRequest request)
    {
        if (_takesAll)
        {
            return true;
        }

        string host = request.Headers.Host.ToString();
        if (host == Volatile.Read(ref _lastAllowed))
        {
            return true;
        }

        string name = WithoutRootDot(HostOf(request));
        if ((_isLoopback && IsLoopbackName(name))
            || (name.Length > 0 && HostString.MatchesAny(name, _allowed)))
        {
            Volatile.Write(ref _lastAllowed, host);
            return true;
        }

        // Not cached, because the next connection may have another certificate.
        return _isLoopback && IsCertified(request, name);
    }

    /// <summary>Refuses a request that calls the endpoint by another name.</summary>
    /// <exception cref="HttpRefusal">403.</exception>
    public void Check(HttpRequest request)
    {
        if (!Allows(request))
        {
            throw Refusal(request);
        }
    }

    /// <summary>The error for a request with a host name that is not allowed.</summary>
    public HttpRefusal Refusal(HttpRequest request) => new(
        StatusCodes.Status403Forbidden,
        RpcStatusCode.PermissionDenied,
        (HostOf(request) is { Length: > 0 } name
            ? $"This listener does not accept the host name '{name}'. "
            : "The request names no host. ")
        + (_isLoopback ? "Call it as localhost or 127.0.0.1, or add" : "Add")
        + $" the name to {Setting}.");

    // The header as it was sent, because HttpRequest.Host converts international names to Unicode.
    private static string HostOf(HttpRequest request) => new HostString(request.Headers.Host.ToString()).Host;

    private static bool IsLoopbackName(string name) =>
        HttpTransport.IsLoopback(name.Trim('[', ']'))
        || name.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase);

    // Only the owner of the certificate can serve a web page under one of its names.
    private bool IsCertified(HttpRequest request, string name) =>
        Uri.CheckHostName(name) == UriHostNameType.Dns
        && CertificateOf(request) is { } certificate && certificate.MatchesHostname(name);

    // The certificate of this connection: the listener's may have been replaced since, and an application's
    // is only known to Kestrel.
    private static X509Certificate2? CertificateOf(HttpRequest request) =>
        request.HttpContext.Features.Get<ISslStreamFeature>()?.SslStream.LocalCertificate as X509Certificate2;

    // A trailing dot stands for the root of DNS. The name is the same without it.
    private static string WithoutRootDot(string name) => name.EndsWith('.') ? name[..^1] : name;

    private static string Normalize(string name, RpcEndpoint endpoint)
    {
        string host = WithoutRootDot(name.Trim());
        if (host == AllNames)
        {
            return host;
        }

        bool hasSubdomains = host.StartsWith(Subdomains, StringComparison.Ordinal);
        string bare = hasSubdomains ? host[Subdomains.Length..] : host;
        if (!hasSubdomains && IPAddress.TryParse(bare.Trim('[', ']'), out IPAddress? address))
        {
            // Host headers have brackets around IPv6 addresses.
            return address.ToString().Contains(':') ? $"[{address}]" : address.ToString();
        }

        if (ToAscii(bare) is { } ascii && Uri.CheckHostName(ascii) == UriHostNameType.Dns)
        {
            return hasSubdomains ? Subdomains + ascii : ascii;
        }

        throw new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidAllowedHost,
            $"'{name}' is not a host name. Write it without scheme, port and path, as 'rpc.example.com', "
            + "'*.example.com' for all names under it, or '*' for every name.", endpoint);
    }

    // Browsers send international names in their ASCII form.
    private static string? ToAscii(string name)
    {
        try
        {
            return new IdnMapping().GetAscii(name);
        }
        catch (ArgumentException)
        {
            return null;
        }
    }
}

/// <summary>Which web pages may call. A browser sends requests for any page that asks, so a page of somewhere
/// else could otherwise call a listener that only this machine reaches.</summary>
internal sealed class BrowserPolicy(IReadOnlyList<string> origins, bool hasPasswords)
{
    private const string MaxAgeSeconds = "600";

    // Headers become the metadata of the call. If a page requests more or longer names, the reply does not
    // list them.
    private const int MaxHeaderNames = 100;
    private const int MaxHeaderNamesLength = 4096;
    private const string Authorization = "Authorization";

    private static readonly string Headers =
        "Content-Type, Content-Encoding, Accept, "
        + $"{HttpNames.CallContext}, {HttpNames.Timeout}, {HttpNames.ConnectVersion}, "
        + $"{HttpNames.ConnectEncoding}, {HttpNames.ConnectAcceptEncoding}, "
        + "X-Grpc-Web, X-User-Agent, Grpc-Timeout";

    private static readonly string[] Exposed =
        [HttpNames.CallContext, "Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"];

    // Pages can always read these headers, or do not need them.
    private static readonly FrozenSet<string> NotExposed = new[]
    {
        "Access-Control-Allow-Origin", "Cache-Control", "Connection", "Content-Language", "Content-Length",
        "Content-Type", "Date", "Keep-Alive", "Server", "Transfer-Encoding", "Vary",
    }.ToFrozenSet(StringComparer.OrdinalIgnoreCase);

    private static readonly object Key = new();

    private readonly FrozenSet<string> _origins = origins
        .Select(origin => origin.TrimEnd('/'))
        .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
    private readonly bool _all = origins.Contains("*");

    /// <summary>Allows a page to call: the application checks its origin and sends CORS headers.</summary>
    public static void Allow(HttpContext http) => http.Items[Key] = true;

    /// <summary>Whether a browser sends the request, perhaps for a page of another origin. Older browsers
    /// send only a Referer.</summary>
    public static bool IsByPage(HttpRequest request)
    {
        IHeaderDictionary headers = request.Headers;
        return headers.Origin.Count > 0
            || headers.Keys.Any(name => name.StartsWith("Sec-Fetch-", StringComparison.OrdinalIgnoreCase))
            || headers.Referer.Any(page => !IsOfOwnOrigin(request, page));
    }

    private static bool IsOfOwnOrigin(HttpRequest request, string? page) =>
        Uri.TryCreate(page, UriKind.Absolute, out Uri? from)
        && Uri.TryCreate($"{request.Scheme}://{request.Headers.Host}", UriKind.Absolute, out Uri? own)
        && Uri.Compare(
            from, own, UriComponents.SchemeAndServer, UriFormat.SafeUnescaped,
            StringComparison.OrdinalIgnoreCase) == 0;

    /// <summary>Rejects pages that may not call, and sends CORS headers to allowed pages.</summary>
    /// <param name="http">The request.</param>
    /// <param name="methods">The methods of HTTP that the path has.</param>
    /// <exception cref="HttpRefusal">403.</exception>
    public void Check(HttpContext http, string methods)
    {
        HttpRequest request = http.Request;
        string origin = request.Headers.Origin.ToString();
        string site = request.Headers["Sec-Fetch-Site"].ToString();
        if (origin.Length == 0 && site.Length == 0)
        {
            // The request has no header of a browser.
            return;
        }

        if (IsOwn(request, origin, site) || http.Items.ContainsKey(Key))
        {
            return;
        }

        if (origin.Length == 0 || !(_all || _origins.Contains(origin)))
        {
            string page = origin.Length > 0 ? origin : request.Headers.Referer.ToString();
            throw new HttpRefusal(
                StatusCodes.Status403Forbidden,
                RpcStatusCode.PermissionDenied,
                $"The origin '{page}' is not allowed. Add it to the allowed origins of the listener "
                + "(AllowedOrigin).");
        }

        IHeaderDictionary headers = http.Response.Headers;
        headers.AccessControlAllowOrigin = _all ? "*" : origin;
        headers.Append("Vary", "Origin");
        if (HttpMethods.IsOptions(request.Method))
        {
            headers.AccessControlAllowMethods = methods;
            headers.AccessControlAllowHeaders = AllowedHeaders(request);
            headers.AccessControlMaxAge = MaxAgeSeconds;
        }
        else
        {
            http.Response.OnStarting(Expose, http.Response);
        }
    }

    // With passwords, any page that a user visits could guess them from within the user's network, so for all
    // origins only a fixed list of headers is allowed. Otherwise a page may send the headers that it
    // requests; they reach the handler as metadata.
    private string AllowedHeaders(HttpRequest request)
    {
        if (_all && hasPasswords)
        {
            return Headers;
        }

        string asked = request.Headers.AccessControlRequestHeaders.ToString();
        string[] names = asked.Length is 0 or > MaxHeaderNamesLength
            ? []
            : asked.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        return names.Length is 0 or > MaxHeaderNames || !Array.TrueForAll(names, HttpNames.IsToken)
            ? $"{Headers}, {Authorization}"
            : $"{Headers}, {Authorization}, {string.Join(", ", names)}";
    }

    // The handler's headers and trailers are only known when the response begins.
    private static Task Expose(object state)
    {
        IHeaderDictionary headers = ((HttpResponse)state).Headers;
        headers.AccessControlExposeHeaders = string.Join(
            ", ",
            Exposed.Concat(headers.Keys.Where(name => !NotExposed.Contains(name)))
                .Distinct(StringComparer.OrdinalIgnoreCase));
        return Task.CompletedTask;
    }

    // The listener's own pages, and addresses that the user opens. The host name was already checked.
    private static bool IsOwn(HttpRequest request, string origin, string site) => origin.Length > 0
        ? origin.Equals($"{request.Scheme}://{request.Headers.Host}", StringComparison.OrdinalIgnoreCase)
        : site is "same-origin" or "none";
}
