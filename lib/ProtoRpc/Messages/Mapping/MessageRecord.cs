using System.Collections;
using System.Collections.Specialized;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Makes one row of a message: a column for each field, those of nested messages with dotted
/// names.</summary>
/// <remarks>The columns only depend on the type, so that all messages of a type have the same ones. Values
/// without a column are JSON in one cell: lists, maps, well-known types without a text, and messages that
/// contain their own type.</remarks>
internal sealed class MessageRecord(ObjectWriter objects)
{
    // A type may contain thousands of others on many paths. Beyond this limit, a nested message is one column
    // with JSON.
    private const int MaxColumns = 2000;

    private static readonly JsonWriterOptions Writing = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        MaxDepth = (2 * MessageLayout.MaxDepth) + 2,
    };

    private readonly List<KeyValuePair<string, object?>> _columns = [];
    private readonly HashSet<MessageLayout> _path = [];

    public IReadOnlyList<KeyValuePair<string, object?>> Write(DynamicMessage message)
    {
        if (message.Layout.WellKnown == WellKnownType.None)
        {
            WriteFields(message.Layout, message, "");
        }
        else
        {
            _columns.Add(new("value", CellOf(objects.WriteMessage(message, 0), isSet: true)));
        }
        return _columns;
    }

    private void WriteFields(MessageLayout layout, DynamicMessage? message, string prefix)
    {
        _path.Add(layout);
        foreach (FieldLayout field in layout.Shown.Concat(layout.Extensions))
        {
            string name = prefix + field.Info.Name;
            if (IsNested(field))
            {
                WriteFields(field.Message, message?.References[field.Slot] as DynamicMessage, name + ".");
            }
            else
            {
                bool isAbsent = message is null || (field.IsRepeated && !message.Has(field));
                object? value = isAbsent ? null : objects.WriteField(message!, field, _path.Count);
                _columns.Add(new(name, CellOf(value, field.HasPresence)));
            }
        }
        _path.Remove(layout);
    }

    // A message without fields would have no columns, so the row could not show whether it is set.
    private bool IsNested(FieldLayout field) =>
        field.IsMessage && !field.IsRepeated && field.Message.WellKnown == WellKnownType.None
        && field.Message.Fields.Length > 0 && !_path.Contains(field.Message)
        && _path.Count < MessageLayout.MaxDepth && _columns.Count + field.Message.Fields.Length <= MaxColumns;

    // Export-Csv formats values with the current culture, but the mapper reads them without one. Values whose
    // format depends on the culture are therefore text already.
    private static object? CellOf(object? value, bool isSet) => value switch
    {
        null or DBNull => null,
        // Reading an empty cell omits the field.
        byte[] { Length: 0 } when !isSet => "",
        string or bool or int or uint or long or ulong => value,
        float or double or DateTimeOffset or TimeSpan or byte[] => TextOf(value),
        _ => JsonOf(value),
    };

    private static string TextOf(object value) => value switch
    {
        DateTimeOffset when ExactTime.OfDate(value) is var (seconds, nanos) =>
            WellKnownTime.TextOfTimestamp(seconds, nanos)!,
        TimeSpan when ExactTime.OfTimeSpan(value) is var (seconds, nanos) =>
            WellKnownTime.TextOfDuration(seconds, nanos)!,
        byte[] bytes => BytesReader.TextOf(bytes),
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };

    private static string JsonOf(object value)
    {
        using MemoryStream output = new();
        using (Utf8JsonWriter writer = new(output, Writing))
        {
            WriteJson(writer, value);
        }
        return Encoding.UTF8.GetString(output.GetBuffer(), 0, (int)output.Length);
    }

    private static void WriteJson(Utf8JsonWriter writer, object? value)
    {
        switch (value)
        {
            case null or DBNull:
                writer.WriteNullValue();
                break;
            case bool flag:
                writer.WriteBooleanValue(flag);
                break;
            case int or uint or long:
                writer.WriteNumberValue(Convert.ToInt64(value, CultureInfo.InvariantCulture));
                break;
            case ulong number:
                writer.WriteNumberValue(number);
                break;
            case double number when double.IsFinite(number):
                writer.WriteNumberValue(number);
                break;
            case float number when float.IsFinite(number):
                writer.WriteNumberValue(number);
                break;
            case string text:
                writer.WriteStringValue(text);
                break;
            case byte[] bytes:
                writer.WriteBase64StringValue(bytes);
                break;
            case IDictionary members:
                WriteMembers(writer, members);
                break;
            case IEnumerable items and not byte[]:
                writer.WriteStartArray();
                foreach (object? item in items)
                {
                    WriteJson(writer, item);
                }
                writer.WriteEndArray();
                break;
            default:
                writer.WriteStringValue(TextOf(value));
                break;
        }
    }

    private static void WriteMembers(Utf8JsonWriter writer, IDictionary members)
    {
        // In the dictionary of a message, null is an absent member. In a Struct, null is a value.
        bool isMessage = members is OrderedDictionary;
        writer.WriteStartObject();
        foreach (DictionaryEntry member in members)
        {
            if (member.Value is not null || !isMessage)
            {
                writer.WritePropertyName(member.Key is bool flag
                    ? flag ? "true" : "false"
                    : Convert.ToString(member.Key, CultureInfo.InvariantCulture)!);
                WriteJson(writer, member.Value);
            }
        }
        writer.WriteEndObject();
    }
}
