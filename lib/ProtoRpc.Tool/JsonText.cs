using System.Collections;
using System.Globalization;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace ProtoRpc.Tool;

/// <summary>JSON text to plain dictionaries, lists and scalars, and back.</summary>
internal static class JsonText
{
    private static readonly JsonWriterOptions Compact =
        new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };
    private static readonly JsonWriterOptions Indented = Compact with { Indented = true };

    private static readonly JsonDocumentOptions Reading = new()
    {
        AllowTrailingCommas = true,
        CommentHandling = JsonCommentHandling.Skip,
        MaxDepth = 2 * 100, // Objects and the arrays between them, for messages nested as deep as the limit.
    };

    /// <summary>The text itself, or what <c>@FILE</c> or <c>-</c> leads to.</summary>
    public static string Source(string text, TextReader input) => text switch
    {
        "-" => input.ReadToEnd(),
        ['@', .. string path] => File.ReadAllText(path),
        _ => text,
    };

    /// <summary>Reads JSON; <paramref name="where"/> says in errors where it stood.</summary>
    public static object? Read(string json, string where)
    {
        try
        {
            using JsonDocument document = JsonDocument.Parse(json, Reading);
            return ToObject(document.RootElement);
        }
        catch (JsonException e)
        {
            throw new UsageException($"{where} is not JSON: {e.Message}", e);
        }
    }

    /// <summary>Writes what <see cref="MessageMapper.ToObject"/> gives: bytes as base64, times in
    /// RFC 3339, durations in seconds.</summary>
    public static string Write(object? value, bool indented = true)
    {
        using MemoryStream stream = new();
        using (Utf8JsonWriter writer = new(stream, indented ? Indented : Compact))
        {
            Write(writer, value);
        }

        return System.Text.Encoding.UTF8.GetString(stream.GetBuffer(), 0, (int)stream.Length);
    }

    private static object? ToObject(JsonElement element)
    {
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                OrderedDictionary<string, object?> members = [];
                foreach (JsonProperty member in element.EnumerateObject())
                {
                    members[member.Name] = ToObject(member.Value);
                }

                return members;
            case JsonValueKind.Array:
                return element.EnumerateArray().Select(ToObject).ToList();
            case JsonValueKind.String:
                return element.GetString();
            case JsonValueKind.Number:
                // Boxed one by one: the operator would otherwise make doubles of all three.
                return element.TryGetInt64(out long signed) ? (object)signed
                    : element.TryGetUInt64(out ulong unsigned) ? (object)unsigned
                    : (object)element.GetDouble();
            case JsonValueKind.True:
                return true;
            case JsonValueKind.False:
                return false;
            default:
                return null;
        }
    }

    private static void Write(Utf8JsonWriter writer, object? value)
    {
        switch (value)
        {
            case null: writer.WriteNullValue(); break;
            case string text: writer.WriteStringValue(text); break;
            case bool flag: writer.WriteBooleanValue(flag); break;
            case int number: writer.WriteNumberValue(number); break;
            case uint number: writer.WriteNumberValue(number); break;
            case long number: writer.WriteNumberValue(number); break;
            case ulong number: writer.WriteNumberValue(number); break;
            case float number when float.IsFinite(number): writer.WriteNumberValue(number); break;
            case double number when double.IsFinite(number): writer.WriteNumberValue(number); break;
            case byte[] bytes: writer.WriteBase64StringValue(bytes); break;
            case DateTimeOffset time: writer.WriteStringValue(Rfc3339(time)); break;
            case TimeSpan span: writer.WriteStringValue(Seconds(span)); break;
            case IDictionary map: WriteMembers(writer, map); break;
            case IEnumerable list: WriteList(writer, list); break;
            default: writer.WriteStringValue(Convert.ToString(value, CultureInfo.InvariantCulture)); break;
        }
    }

    private static void WriteMembers(Utf8JsonWriter writer, IDictionary map)
    {
        writer.WriteStartObject();
        foreach (DictionaryEntry entry in map)
        {
            string name = entry.Key is bool flag
                ? (flag ? "true" : "false")
                : Convert.ToString(entry.Key, CultureInfo.InvariantCulture) ?? "";
            writer.WritePropertyName(name);
            Write(writer, entry.Value);
        }

        writer.WriteEndObject();
    }

    private static void WriteList(Utf8JsonWriter writer, IEnumerable list)
    {
        writer.WriteStartArray();
        foreach (object? item in list)
        {
            Write(writer, item);
        }

        writer.WriteEndArray();
    }

    private static string Rfc3339(DateTimeOffset time) =>
        time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss.FFFFFFF'Z'", CultureInfo.InvariantCulture);

    private static string Seconds(TimeSpan span) =>
        ((decimal)span.Ticks / TimeSpan.TicksPerSecond)
            .ToString("0.#######", CultureInfo.InvariantCulture) + "s";
}
