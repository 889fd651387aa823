using System.Collections;
using System.Text.Json;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Formats.Json;

/// <summary>Writes a message to fill in as ProtoJSON: every field, in lines.</summary>
/// <remarks>Lists and maps are empty, because their elements would be sent. Members of a oneof are null,
/// because two of them are an error.</remarks>
internal static class BlankJson
{
    private static readonly JsonWriterOptions Lines = new() { Indented = true, NewLine = "\n" };

    /// <summary>The text of a message of <see cref="MessageMapper.Blank"/>.</summary>
    public static string Write(BlankMessage message)
    {
        ArrayBufferWriter<byte> bytes = new();
        using (Utf8JsonWriter json = new(bytes, Lines))
        {
            WriteMessage(json, message);
        }

        return Encoding.UTF8.GetString(bytes.WrittenSpan);
    }

    private static void WriteMessage(Utf8JsonWriter json, BlankMessage message)
    {
        json.WriteStartObject();
        foreach (DictionaryEntry entry in message)
        {
            RpcFieldInfo field = message.MessageType!.FindField((string)entry.Key)!;
            json.WritePropertyName(field.JsonKey);
            WriteValue(json, field.Oneof is null ? entry.Value : null);
        }

        json.WriteEndObject();
    }

    private static void WriteValue(Utf8JsonWriter json, object? value)
    {
        switch (value)
        {
            // Struct and Any: their keys in JSON are not the fields of their types.
            case BlankMessage { Count: 0 }:
                json.WriteNullValue();
                break;
            case BlankMessage nested:
                WriteMessage(json, nested);
                break;
            case IDictionary:
                json.WriteStartObject();
                json.WriteEndObject();
                break;
            case byte[] bytes:
                json.WriteBase64StringValue(bytes);
                break;
            case IList:
                json.WriteStartArray();
                json.WriteEndArray();
                break;
            case string text:
                json.WriteStringValue(text);
                break;
            case bool flag:
                json.WriteBooleanValue(flag);
                break;
            case null:
                json.WriteNullValue();
                break;
            default:
                json.WriteRawValue(Convert.ToString(value, CultureInfo.InvariantCulture)!);
                break;
        }
    }
}
