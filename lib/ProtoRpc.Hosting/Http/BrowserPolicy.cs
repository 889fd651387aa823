using System.Collections.Frozen;
using Microsoft.AspNetCore.Http;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Hosting.Http;

/// <summary>Which web pages may call. A browser sends requests for any page that asks, so a page of somewhere
/// else could otherwise call a listener that only this machine reaches.</summary>
internal sealed class BrowserPolicy
{
    private const string MaxAgeSeconds = "600";
    private static readonly string Headers =
        "Content-Type, Content-Encoding, Accept, Authorization, "
        + $"{HttpNames.CallContext}, {HttpNames.Timeout}, {HttpNames.ConnectVersion}, "
        + "X-Grpc-Web, X-User-Agent, Grpc-Timeout";

    private static readonly string Exposed =
        $"{HttpNames.CallContext}, Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin";

    private static readonly object Key = new();

    private readonly FrozenSet<string> _origins;
    private readonly bool _all;

    public BrowserPolicy(IReadOnlyList<string> origins)
    {
        _all = origins.Contains("*");
        _origins = origins
            .Select(origin => origin.TrimEnd('/'))
            .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>Allows the page of a request to call: the application allows its origin and sends the CORS
    /// headers.</summary>
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
    /// <exception cref="HttpRefusal">403.</exception>
    public void Check(HttpContext http)
    {
        HttpRequest request = http.Request;
        string origin = request.Headers.Origin.ToString();
        string site = request.Headers["Sec-Fetch-Site"].ToString();
        if (origin.Length == 0 && site.Length == 0)
        {
            // Not a browser.
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
                $"Pages of '{page}' are not among the allowed origins of this listener.");
        }

        IHeaderDictionary headers = http.Response.Headers;
        headers.AccessControlAllowOrigin = _all ? "*" : origin;
        headers.AccessControlExposeHeaders = Exposed;
        headers.Append("Vary", "Origin");
        if (HttpMethods.IsOptions(request.Method))
        {
            headers.AccessControlAllowMethods = "GET, HEAD, POST";
            headers.AccessControlAllowHeaders = Headers;
            headers.AccessControlMaxAge = MaxAgeSeconds;
        }
    }

    // Our own pages, and what the user himself opens. The name in Host is one of ours: it was checked before.
    private static bool IsOwn(HttpRequest request, string origin, string site) => origin.Length > 0
        ? origin.Equals($"{request.Scheme}://{request.Headers.Host}", StringComparison.OrdinalIgnoreCase)
        : site is "same-origin" or "none";
}
