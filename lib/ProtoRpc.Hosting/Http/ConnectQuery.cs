using System.Net;
using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.WebUtilities;
using ProtoRpc.Formats;

namespace ProtoRpc.Hosting.Http;

/// <summary>A request of the Connect protocol that is in the query of a GET:
/// <c>?connect=v1&amp;encoding=json&amp;message=...&amp;base64=1&amp;compression=gzip</c>.</summary>
internal sealed class ConnectQuery
{
    private const string Version = "v1";

    private readonly Dictionary<string, byte[]> _parts = new(StringComparer.Ordinal);

    private ConnectQuery(QueryString query)
    {
        foreach (QueryStringEnumerable.EncodedNameValuePair pair in new QueryStringEnumerable(query.Value))
        {
            // Bytes that are no text may stand there percent-encoded,
            // so nothing is made text before its turn.
            byte[] value = Encoding.UTF8.GetBytes(pair.EncodedValue.ToString());
            if (!_parts.TryAdd(
                pair.DecodeName().ToString(), WebUtility.UrlDecodeToBytes(value, 0, value.Length)!))
            {
                throw Wrong($"'{pair.DecodeName()}' occurs twice.");
            }
        }

        if (TextOf("connect") is not Version)
        {
            throw Wrong($"connect is '{TextOf("connect")}'; this listener supports {Version}.");
        }

        string encoding = TextOf("encoding")
            ?? throw Wrong("encoding is missing; write encoding=json or encoding=proto.");
        Format = MessageFormats.All.FirstOrDefault(format => format.Row.ConnectName == encoding)
            ?? throw new HttpRefusal(
                StatusCodes.Status415UnsupportedMediaType, RpcStatusCode.InvalidArgument,
                $"The encoding '{encoding}' is not supported; use json or proto.");
    }

    /// <summary>The format of the request and of the reply.</summary>
    public MessageFormat Format { get; }

    /// <summary>The media type of the reply.</summary>
    public string MediaType => $"application/{Format.Row.ConnectName}";

    /// <summary>The content encoding of the message; empty for none.</summary>
    public string Compression => TextOf("compression") ?? "";

    /// <summary>The query as a Connect request; null if it has no <c>connect</c> parameter.</summary>
    /// <exception cref="HttpRefusal">The Connect request is malformed.</exception>
    public static ConnectQuery? Of(HttpRequest request) =>
        IsIn(request) ? new ConnectQuery(request.QueryString) : null;

    /// <summary>Whether a request says that it is one.</summary>
    public static bool IsIn(HttpRequest request) =>
        (HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method))
        && request.QueryString.Value is { } query
        && (query.StartsWith("?connect=", StringComparison.Ordinal)
            || query.Contains("&connect=", StringComparison.Ordinal));

    /// <summary>The bytes of the message, still compressed if they were.</summary>
    /// <exception cref="HttpRefusal">There are none, or they are not base64.</exception>
    public byte[] Message()
    {
        byte[] message = _parts.GetValueOrDefault("message")
            ?? throw Wrong("message is missing; an empty message is 'message='.");
        return TextOf("base64") is not "1" ? message
            : Base64Text.TryDecode(Encoding.Latin1.GetString(message), out byte[] bytes) ? bytes
            : throw Wrong("message is not base64, although base64=1 is set.");
    }

    private static HttpRefusal Wrong(string what) => new(
        StatusCodes.Status400BadRequest, RpcStatusCode.InvalidArgument, $"In the query, {what}");

    private string? TextOf(string name) =>
        _parts.TryGetValue(name, out byte[]? value) ? Encoding.UTF8.GetString(value) : null;
}
