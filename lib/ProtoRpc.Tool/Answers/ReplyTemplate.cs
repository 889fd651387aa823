using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using ProtoRpc.Formats.Json;

namespace ProtoRpc.Tool.Answers;

/// <summary>A reply in JSON whose strings have placeholders: <c>"Hello {{request.name}}"</c>.</summary>
/// <remarks>
/// A string that is one placeholder becomes the value itself, be it a number, a list or a message; within
/// other text the value's own text. Values are put into the JSON tree and never read again, so that no caller
/// can write JSON or placeholders into it. It takes time and memory in proportion to what it writes, which is
/// limited.
/// </remarks>
internal sealed class ReplyTemplate
{
    // As deep as the reader of replies reads.
    private static readonly JsonDocumentOptions Reading =
        new() { MaxDepth = JsonMessageReader.MaxJsonDepth };

    // A template may write what ProtoJSON refuses, which says where.
    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        MaxDepth = 4 * 100,
    };

    private readonly JsonElement _root;
    private readonly Dictionary<string, TemplateText> _texts = [];

    private ReplyTemplate(JsonElement root) => _root = root;

    /// <summary>Reads a template, and checks its placeholders.</summary>
    /// <exception cref="UsageException">It is not JSON, or has a placeholder that means
    /// nothing.</exception>
    public static ReplyTemplate Read(ReadOnlyMemory<byte> json, RpcMethodInfo method, string where)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(json, Reading);
            ReplyTemplate template = new(document.RootElement.Clone());
            template.Collect(template._root, method, where);
            return template;
        }
        catch (JsonException e)
        {
            throw new UsageException($"{where} is not JSON: {e.Message}", e);
        }
    }

    /// <summary>The reply as JSON.</summary>
    /// <param name="values">What the placeholders stand for.</param>
    /// <param name="maxBytes">Bytes that it may have.</param>
    /// <exception cref="RpcException">ResourceExhausted: it is larger.</exception>
    public byte[] Write(TemplateValues values, int maxBytes)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream, Writing))
        {
            Write(writer, _root, values, maxBytes);
        }

        return stream.ToArray();
    }

    private void Collect(JsonElement element, RpcMethodInfo method, string where)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    Collect(member.Value, method, where);
                }

                break;
            case JsonValueKind.Array:
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Collect(item, method, where);
                }

                break;
            case JsonValueKind.String when element.GetString() is { } text
                && text.Contains("{{", StringComparison.Ordinal):
                _texts[text] = TemplateText.Read(text, method, where);
                break;
        }
    }

    private void Write(Utf8JsonWriter writer, JsonElement element, TemplateValues values, int maxBytes)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                writer.WriteStartObject();
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    writer.WritePropertyName(member.Name);
                    Write(writer, member.Value, values, maxBytes);
                }

                writer.WriteEndObject();
                break;
            case JsonValueKind.Array:
                writer.WriteStartArray();
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Write(writer, item, values, maxBytes);
                }

                writer.WriteEndArray();
                break;
            case JsonValueKind.String when _texts.TryGetValue(element.GetString()!, out TemplateText? text):
                Write(writer, text, values, maxBytes);
                break;
            default:
                element.WriteTo(writer);
                break;
        }
    }

    private static void Write(Utf8JsonWriter writer, TemplateText text, TemplateValues values, int maxBytes)
    {
        if (text.Only is { } path)
        {
            if (values.Find(path) is { ValueKind: JsonValueKind.Number } number)
            {
                // ProtoJSON reads numbers in quotes, and texts need them.
                writer.WriteStringValue(number.GetRawText());
            }
            else if (values.Find(path) is { } value)
            {
                value.WriteTo(writer);
            }
            else
            {
                writer.WriteNullValue();
            }
        }
        else
        {
            StringBuilder whole = new();
            foreach ((string literal, string[]? placeholder) in text.Parts)
            {
                whole.Append(placeholder is null ? literal : values.TextOf(placeholder));
                Require(writer.BytesCommitted + writer.BytesPending + whole.Length, maxBytes);
            }

            writer.WriteStringValue(whole.ToString());
        }

        Require(writer.BytesCommitted + writer.BytesPending, maxBytes);
    }

    private static void Require(long bytes, int maxBytes)
    {
        if (bytes > maxBytes)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The reply that the template makes is larger than {maxBytes} bytes.");
        }
    }
}
