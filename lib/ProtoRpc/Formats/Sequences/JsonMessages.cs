using System.Text;
using System.Text.Json;
using ProtoRpc.Formats.Json;

namespace ProtoRpc.Formats.Sequences;

/// <summary>Reads the messages of a text of JSON: values one after the other, or for a stream also one
/// array.</summary>
internal static class JsonMessages
{
    // The array around the messages is one level more.
    private static readonly JsonReaderOptions Reading =
        new() { MaxDepth = JsonMessageReader.MaxJsonDepth + 1 };

    /// <summary>Reads all messages.</summary>
    /// <param name="type">Their type.</param>
    /// <param name="json">The text.</param>
    /// <param name="isStream">Whether an array is its elements.</param>
    /// <exception cref="RpcException">InvalidArgument: not messages of the type, why, and at which line and
    /// column of the text.</exception>
    public static IReadOnlyList<DynamicMessage> Read(RpcMessageInfo type, string json, bool isStream)
    {
        FormatOptions options = new() { Schema = type.Schema };
        return
        [
            .. Split(type, json, isStream).Select(part =>
                MessageFormats.Json.Read(type, part.Json, options with { Origin = part.Origin })),
        ];
    }

    /// <summary>The JSON of each message, which only the splitting has checked so far.</summary>
    /// <inheritdoc cref="Read"/>
    public static IReadOnlyList<JsonPart> Split(RpcMessageInfo type, string json, bool isStream)
    {
        ReadOnlyMemory<byte> utf8 = Encoding.UTF8.GetBytes(json);
        List<JsonPart> parts = [];
        JsonSplitter splitter = new();
        TextOrigin origin = default;
        while (splitter.TryFind(utf8.Span, isEnd: true, out FoundMessage found))
        {
            TextOrigin start = origin.Behind(utf8.Span[..found.Start]);
            parts.Add(new(utf8.Slice(found.Start, found.Length), start));
            origin = start.Behind(utf8.Span[found.Start..found.Taken]);
            utf8 = utf8[found.Taken..];
        }

        return isStream && !IsArray(type) && parts is [var only] && only.Json.Span[0] == '['
            ? Elements(type, only)
            : parts;
    }

    // An array can be one message of these types.
    private static bool IsArray(RpcMessageInfo type) =>
        type.FullName is "google.protobuf.ListValue" or "google.protobuf.Value";

    private static List<JsonPart> Elements(RpcMessageInfo type, JsonPart array)
    {
        ReadOnlySpan<byte> json = array.Json.Span;
        Utf8JsonReader reader = new(json, Reading);
        List<JsonPart> elements = [];
        int counted = 0;
        TextOrigin origin = array.Origin;
        try
        {
            reader.Read();
            while (reader.Read() && reader.TokenType != JsonTokenType.EndArray)
            {
                int start = (int)reader.TokenStartIndex;
                reader.Skip();
                origin = origin.Behind(json[counted..start]);
                counted = start;
                elements.Add(new(array.Json[start..(int)reader.BytesConsumed], origin));
            }

            return elements;
        }
        catch (JsonException e)
        {
            string place = array.Origin.Place(e.LineNumber ?? 0, e.BytePositionInLine ?? 0);
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{type.Name}: this is not JSON: {JsonMessageReader.Reason(e)} (at {place})", e)
            {
                ErrorId = RpcErrorIds.MalformedMessage,
            };
        }
    }
}

/// <summary>The JSON of one message in a text.</summary>
/// <param name="Json">The JSON.</param>
/// <param name="Origin">Where it begins.</param>
internal readonly record struct JsonPart(ReadOnlyMemory<byte> Json, TextOrigin Origin);
