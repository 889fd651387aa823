using System.Globalization;
using System.Text;
using System.Text.Json;
using Google.Protobuf;

namespace ProtoRpc.Tool.Answers;

/// <summary>What the placeholders of a template stand for in one call.</summary>
/// <param name="context">The call.</param>
/// <param name="request">The request; of a stream the last one.</param>
/// <param name="call">The number of the call at this method, from 1.</param>
/// <param name="count">The requests of the call so far.</param>
internal sealed class TemplateValues(RpcServerCallContext context, IMessage request, long call, int count)
{
    private static readonly FormatOptions Format = new() { UseProtoNames = true, IncludeDefaults = true };
    private JsonElement? _request;

    /// <summary>The placeholders without steps.</summary>
    public static IReadOnlyList<string> Names { get; } =
        ["method", "user", "peer", "call", "count", "now", "uuid"];

    private JsonElement Request => _request ??= Parse(MessageFormats.Json.ToArray(request, Format));

    /// <summary>The value of a placeholder; null where the request does not have it.</summary>
    public JsonElement? Find(string[] path)
    {
        if (path[0] != "request")
        {
            return Parse(path[0] switch
            {
                "call" => Number(call),
                "count" => Number(count),
                _ => String(TextOfName(path)),
            });
        }

        JsonElement found = Request;
        foreach (string step in path.AsSpan(1))
        {
            switch (found.ValueKind)
            {
                case JsonValueKind.Object when found.TryGetProperty(step, out JsonElement member):
                    found = member;
                    break;
                case JsonValueKind.Array when int.TryParse(
                    step, NumberStyles.None, CultureInfo.InvariantCulture, out int index)
                    && index < found.GetArrayLength():
                    found = found[index];
                    break;
                default:
                    return null;
            }
        }

        return found;
    }

    /// <summary>The same as text; empty where the request does not have it.</summary>
    public string TextOf(string[] path) => Find(path) switch
    {
        null or { ValueKind: JsonValueKind.Null } => "",
        { ValueKind: JsonValueKind.String } value => value.GetString()!,
        { } value => value.GetRawText(),
    };

    private string TextOfName(string[] path) => path[0] switch
    {
        "headers" => context.RequestHeaders.GetText(path[1]) ?? "",
        "method" => context.Method.FullName,
        "user" => context.User.Name ?? "",
        "peer" => context.ClientAddress,
        "now" => DateTime.UtcNow.ToString("O", CultureInfo.InvariantCulture),
        "uuid" => Guid.NewGuid().ToString(),
        _ => "",
    };

    private static byte[] Number(long value) =>
        Encoding.UTF8.GetBytes(value.ToString(CultureInfo.InvariantCulture));

    private static byte[] String(string value) =>
        Encoding.UTF8.GetBytes($"\"{JsonEncodedText.Encode(value)}\"");

    private static JsonElement Parse(byte[] json)
    {
        using JsonDocument document = JsonDocument.Parse(json, new JsonDocumentOptions { MaxDepth = 400 });
        return document.RootElement.Clone();
    }
}
