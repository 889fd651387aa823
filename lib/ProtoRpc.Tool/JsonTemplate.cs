using System.Globalization;
using System.Text.Encodings.Web;
using System.Text.Json;
using ProtoRpc.Formats.Json;

namespace ProtoRpc.Tool;

/// <summary>A message in JSON whose strings have placeholders: <c>"Hello {{request.name}}"</c>.</summary>
/// <remarks>If a placeholder is the whole string, it is replaced by the value itself: a number, a list or a
/// message. Within other text, it is replaced by the value's text. Values are inserted into the JSON tree and
/// not parsed again, so that callers cannot insert JSON or placeholders. Time and memory are proportional to
/// the output, which is limited.</remarks>
internal sealed class JsonTemplate
{
    // The nesting limit of the message reader.
    private static readonly JsonDocumentOptions Reading =
        new() { MaxDepth = JsonMessageReader.MaxJsonDepth };

    // Larger than the limit of ProtoJSON, whose reader then reports the position of the error.
    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        MaxDepth = 4 * 100,
    };

    private readonly JsonElement _root;
    private readonly Dictionary<string, TemplateText> _texts = [];

    private JsonTemplate(JsonElement root) => _root = root;

    /// <summary>Whether a string has a placeholder. A template without one is the same each time.</summary>
    public bool HasPlaceholders => _texts.Count > 0;

    /// <summary>Reads a template, and checks its placeholders.</summary>
    /// <param name="json">The template.</param>
    /// <param name="resolve">Returns the steps of a placeholder by its name. Throws a UsageException if the
    /// name is unknown.</param>
    /// <param name="where">The name of the template in errors.</param>
    /// <exception cref="UsageException">It is not JSON, or has an unknown placeholder.</exception>
    public static JsonTemplate Read(ReadOnlyMemory<byte> json, Func<string, string[]> resolve, string where)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(json, Reading);
            JsonTemplate template = new(document.RootElement.Clone());
            template.Collect(template._root, resolve, where);
            return template;
        }
        catch (JsonException e)
        {
            throw new UsageException($"{where} is not JSON: {e.Message}", e);
        }
    }

    /// <summary>The message as JSON.</summary>
    /// <param name="values">The values of the placeholders.</param>
    /// <param name="maxBytes">Bytes that it may have.</param>
    /// <exception cref="RpcException">ResourceExhausted: the result is over the limit.</exception>
    public byte[] Write(TemplateValues values, int maxBytes)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream, Writing))
        {
            Write(writer, _root, values, maxBytes);
        }

        return stream.ToArray();
    }

    private void Collect(JsonElement element, Func<string, string[]> resolve, string where)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    Collect(member.Value, resolve, where);
                }

                break;
            case JsonValueKind.Array:
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Collect(item, resolve, where);
                }

                break;
            case JsonValueKind.String when element.GetString() is { } text
                && text.Contains("{{", StringComparison.Ordinal):
                _texts[text] = TemplateText.Read(text, resolve, where);
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
            switch (values.Find(path))
            {
                case { ValueKind: JsonValueKind.Number } number:
                    // In quotes: ProtoJSON accepts numbers in quotes, and string fields require them.
                    writer.WriteStringValue(number.GetRawText());
                    break;
                case { } value:
                    value.WriteTo(writer);
                    break;
                default:
                    writer.WriteNullValue();
                    break;
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
                $"The message that the template makes is larger than {maxBytes} bytes.");
        }
    }
}

/// <summary>A string of a template, cut at its placeholders.</summary>
/// <param name="Parts">Literal text, or the steps of a placeholder.</param>
internal sealed record TemplateText(IReadOnlyList<(string Literal, string[]? Placeholder)> Parts)
{
    private const string Start = "{{";
    private const string End = "}}";

    /// <summary>The placeholder, if it is the whole string; otherwise null.</summary>
    public string[]? Only => Parts is [{ Placeholder: { } path }] ? path : null;

    /// <summary>Cuts a string.</summary>
    /// <exception cref="UsageException">A placeholder has no end, or is unknown.</exception>
    public static TemplateText Read(string text, Func<string, string[]> resolve, string where)
    {
        List<(string, string[]?)> parts = [];
        int at = 0;
        while (text.IndexOf(Start, at, StringComparison.Ordinal) is >= 0 and var start)
        {
            int end = text.IndexOf(End, start, StringComparison.Ordinal);
            if (end < 0)
            {
                throw new UsageException($"{where} has a placeholder without an end: '{text[start..]}'.");
            }

            if (start > at)
            {
                parts.Add((text[at..start], null));
            }

            string name = text[(start + Start.Length)..end].Trim();
            parts.Add(("", resolve(name)));
            at = end + End.Length;
        }

        if (at < text.Length)
        {
            parts.Add((text[at..], null));
        }

        return new TemplateText(parts);
    }
}

/// <summary>The values of a template's placeholders for one message.</summary>
internal abstract class TemplateValues
{
    /// <summary>The value of a placeholder; null for none.</summary>
    public abstract JsonElement? Find(string[] path);

    /// <summary>The same as text; empty for none.</summary>
    public string TextOf(string[] path) => Find(path) switch
    {
        null or { ValueKind: JsonValueKind.Null } => "",
        { ValueKind: JsonValueKind.String } value => value.GetString()!,
        { } value => value.GetRawText(),
    };

    /// <summary>A number as JSON.</summary>
    protected static JsonElement ToJson(long value) =>
        Parse(Encoding.UTF8.GetBytes(value.ToString(CultureInfo.InvariantCulture)));

    /// <summary>A text as JSON.</summary>
    protected static JsonElement ToJson(string text) =>
        Parse(Encoding.UTF8.GetBytes($"\"{JsonEncodedText.Encode(text)}\""));

    /// <summary>The time, for <c>now</c>.</summary>
    protected static string Now => DateTime.UtcNow.ToString("O", CultureInfo.InvariantCulture);

    /// <summary>A new id, for <c>uuid</c>.</summary>
    protected static string NewId => Guid.NewGuid().ToString();

    /// <summary>Reads JSON.</summary>
    protected static JsonElement Parse(byte[] json)
    {
        using JsonDocument document = JsonDocument.Parse(json, new JsonDocumentOptions { MaxDepth = 400 });
        return document.RootElement.Clone();
    }
}
