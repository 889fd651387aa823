using System.Net.Http.Headers;

namespace ProtoRpc.Protocols.Http;

/// <summary>The HTTP headers of ProtoRpc's client and listener.</summary>
internal static class HttpNames
{
    /// <summary>The call context: a serialized RpcCallContext in base64, in both directions.</summary>
    public const string CallContext = "Rpc-Call-Context";

    /// <summary>The prefix of trailers that are sent as headers, as in the Connect protocol.</summary>
    public const string TrailerPrefix = "Trailer-";

    /// <summary>Sent by a client that accepts trailers at the end of a streamed body, because HTTP/1.1
    /// clients ignore real trailers.</summary>
    public const string AcceptTrailers = "Rpc-Accept-Trailers";

    /// <summary>The time that the client waits, in milliseconds, as in the Connect protocol.</summary>
    public const string Timeout = "Connect-Timeout-Ms";

    /// <summary>Sent by clients of the Connect protocol, which expect its errors.</summary>
    public const string ConnectVersion = "Connect-Protocol-Version";

    /// <summary>The only version of the Connect protocol.</summary>
    public const string ConnectVersion1 = "1";

    /// <summary>The compression of the messages of a Connect stream.</summary>
    public const string ConnectEncoding = "Connect-Content-Encoding";

    /// <summary>The compressions that a peer of Connect accepts for the messages of a stream.</summary>
    public const string ConnectAcceptEncoding = "Connect-Accept-Encoding";

    /// <summary>The prefix of the headers of the Connect protocol.</summary>
    public const string ConnectPrefix = "connect-";

    /// <summary>Sent if the server was too busy and rejected the call before it ran, so that the client can
    /// retry. An HTTP header and a gRPC trailer. Its value does not matter.</summary>
    public const string Busy = "protorpc-busy";

    private const string TokenSigns = "!#$%&'*+-.^_`|~";

    // Headers that frame the body or control the connection. A wrong value would break the connection.
    private static readonly HashSet<string> Framing = new(StringComparer.OrdinalIgnoreCase)
    {
        "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer",
            "transfer-encoding",
        "upgrade",
    };

    /// <summary>Whether a text is a token (RFC 9110, section 5.6.2), as names of headers and methods
    /// are.</summary>
    public static bool IsToken(string text) =>
        text.Length > 0 && text.All(c => char.IsAsciiLetterOrDigit(c) || TokenSigns.Contains(c));

    /// <summary>Whether a header belongs to HTTP itself, so that callers cannot set it.</summary>
    public static bool IsFraming(string name) => Framing.Contains(name);
}

/// <summary>Reads the pause after which a server or proxy accepts the request again (RFC 9110, section
/// 10.2.3).</summary>
internal static class HttpRetryAfter
{
    // The maximum pause, because larger numbers of seconds overflow a TimeSpan.
    private const long MostSeconds = int.MaxValue;
    private const string Name = "Retry-After";

    /// <summary>The pause that a response asks for; zero for none.</summary>
    public static TimeSpan Parse(HttpResponseHeaders headers) => Find(headers) ?? TimeSpan.Zero;

    /// <summary>The pause that a response asks for, in seconds or until a date; zero for a date that has
    /// passed.</summary>
    /// <param name="headers">The headers.</param>
    /// <param name="now">The time of this machine; null for now.</param>
    /// <returns>Null if there is none, or it is malformed.</returns>
    public static TimeSpan? Find(HttpResponseHeaders headers, DateTimeOffset? now = null)
    {
        if (!headers.NonValidated.TryGetValues(Name, out HeaderStringValues values))
        {
            return null;
        }

        string text = values.ToString().Trim();
        if (text.Length > 0 && text.All(char.IsAsciiDigit))
        {
            long seconds = long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long read)
                ? Math.Min(read, MostSeconds)
                : MostSeconds;
            return TimeSpan.FromSeconds(seconds);
        }

        // Both dates are from the server's clock, if it sends the Date header, so a wrong clock does not
        // matter.
        return headers.RetryAfter is { Date: { } date }
            ? TimeSpan.FromTicks(Math.Max(0, (date - (headers.Date ?? now ?? DateTimeOffset.UtcNow)).Ticks))
            : null;
    }
}

/// <summary>The names of statuses in the Connect protocol: <c>not_found</c>.</summary>
internal static class ConnectCodes
{
    private static readonly Dictionary<RpcStatusCode, string> Names =
        Enum.GetValues<RpcStatusCode>().ToDictionary(code => code, SnakeCase);

    private static readonly Dictionary<string, RpcStatusCode> Codes =
        Names.ToDictionary(entry => entry.Value, entry => entry.Key, StringComparer.OrdinalIgnoreCase);

    public static string NameOf(RpcStatusCode code) => Names[code];

    /// <summary>The status with a name; null for an unknown name.</summary>
    public static RpcStatusCode? CodeOf(string name) =>
        Codes.TryGetValue(name, out RpcStatusCode code) && code != RpcStatusCode.OK ? code : null;

    // Connect writes canceled, gRPC CANCELLED.
    private static string SnakeCase(RpcStatusCode code)
    {
        if (code == RpcStatusCode.Cancelled)
        {
            return "canceled";
        }

        StringBuilder name = new();
        foreach (char c in code.ToString())
        {
            if (char.IsUpper(c) && name.Length > 0)
            {
                name.Append('_');
            }

            name.Append(char.ToLowerInvariant(c));
        }

        return name.ToString();
    }
}
