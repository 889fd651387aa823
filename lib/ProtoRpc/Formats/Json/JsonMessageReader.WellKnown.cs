using System.Text.Json;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

internal sealed partial class JsonMessageReader
{
    private const string Empty = "google.protobuf.Empty";

    private void ReadWellKnown(ref Utf8JsonReader reader, in MessageTarget message, int depth)
    {
        FieldLayout[] fields = message.Layout.Fields;
        switch (message.Layout.WellKnown)
        {
            case WellKnownType.Wrapper:
                ReadOne(ref reader, message, fields[0], depth);
                break;
            case WellKnownType.Struct:
                ReadMap(ref reader, message, fields[0], depth);
                break;
            case WellKnownType.ListValue:
                ReadList(ref reader, message, fields[0], depth);
                break;
            case WellKnownType.Value:
                ReadValue(ref reader, message, depth);
                break;
            case WellKnownType.Any:
                Expect(
                    ref reader, JsonTokenType.StartObject, message.Layout.Type.FullName,
                    "an object with '@type'");
                ReadAny(ref reader, message, depth);
                break;
            default:
                Expect(ref reader, JsonTokenType.String, message.Layout.Type.FullName, "text in quotes");
                if (WellKnownText.Read(message, reader.GetString()!) is { } problem)
                {
                    throw Invalid(ref reader, problem);
                }
                break;
        }
    }

    private void ReadValue(ref Utf8JsonReader reader, in MessageTarget message, int depth)
    {
        FieldLayout[] fields = message.Layout.Fields;
        FieldLayout chosen = fields[reader.TokenType switch
        {
            JsonTokenType.Null => 0,
            JsonTokenType.Number => 1,
            JsonTokenType.String => 2,
            JsonTokenType.True or JsonTokenType.False => 3,
            JsonTokenType.StartObject => 4,
            _ => 5,
        }];
        ReadOne(ref reader, message, chosen, depth);
    }

    private void ReadAny(ref Utf8JsonReader reader, in MessageTarget any, int depth)
    {
        if (FindType(reader) is not { } typeUrl)
        {
            ReadUntypedAny(ref reader, any, depth);
            return;
        }
        if (TryFindLayoutOfAny(any, typeUrl) is not { } layout)
        {
            ReadBytesInAny(ref reader, any, typeUrl);
            return;
        }
        MessageTarget inner = NewMessage(layout, null);
        if (inner.Layout.WellKnown == WellKnownType.None)
        {
            CheckDepth(depth + 1);
            if (inner.Layout.Type.FullName != Empty)
            {
                ReadFields(ref reader, inner, depth + 1, inAny: true);
            }
            else
            {
                ReadValueInAny(ref reader, inner, depth, isNeeded: false);
            }
        }
        else
        {
            ReadValueInAny(ref reader, inner, depth, isNeeded: true);
        }
        Pack(any, typeUrl, inner);
    }

    // An Any is written as any other message if its URL names no type. A value alone is an error, because the
    // key '@type' is missing.
    private void ReadUntypedAny(ref Utf8JsonReader reader, in MessageTarget any, int depth)
    {
        if (HasTypeUrl(reader))
        {
            ReadFields(ref reader, any, depth, inAny: false);
            return;
        }
        Next(ref reader);
        if (reader.TokenType != JsonTokenType.EndObject)
        {
            throw Invalid("an Any needs '@type', the URL of the type of the message in it.");
        }
    }

    private bool HasTypeUrl(Utf8JsonReader reader)
    {
        while (NextName(ref reader))
        {
            if (reader.ValueTextEquals("typeUrl"u8) || reader.ValueTextEquals("type_url"u8))
            {
                return true;
            }
            reader.Skip();
        }
        return false;
    }

    // Reads the form in which an Any is written if the schema lacks its type.
    private void ReadBytesInAny(ref Utf8JsonReader reader, in MessageTarget any, string typeUrl)
    {
        bool typeSeen = false;
        byte[]? bytes = null;
        while (NextName(ref reader))
        {
            bool isValue = reader.ValueTextEquals("value"u8);
            if (!isValue && !reader.ValueTextEquals("@type"u8))
            {
                bytes = null;
                break;
            }
            bool seen = isValue ? bytes is not null : typeSeen;
            CheckOnce(ref seen, isValue ? "value" : "@type");
            typeSeen |= !isValue;
            Next(ref reader);
            if (isValue && (reader.TokenType != JsonTokenType.String
                || !Base64Text.TryDecode(reader.GetString()!, out bytes)))
            {
                bytes = null;
                break;
            }
        }
        any.Store(any.Layout.Fields[0], typeUrl);
        any.Store(any.Layout.Fields[1], bytes ?? throw UnknownTypeInAny(
            typeUrl, ", or give its bytes as base64 under the key 'value' and nothing else beside '@type'"));
    }

    private void CheckOnce(ref bool seen, string name)
    {
        if (seen)
        {
            Path.PushField(name);
            throw Invalid("the key occurs twice. Remove one of them.");
        }
        seen = true;
    }

    /// <summary>The value of <c>@type</c> at any place in the object; null if it is missing.</summary>
    /// <param name="reader">A copy, so that the position of the original reader does not change.</param>
    private string? FindType(Utf8JsonReader reader)
    {
        while (NextName(ref reader))
        {
            bool isType = reader.ValueTextEquals("@type"u8);
            Next(ref reader);
            if (isType)
            {
                return reader.TokenType == JsonTokenType.String
                    ? reader.GetString()
                    : throw Invalid(ref reader, "is not a type; '@type' is text in quotes.");
            }
            Skip(ref reader);
        }
        return null;
    }

    // In an Any, the JSON form of a well-known type is the value of the key "value".
    private void ReadValueInAny(ref Utf8JsonReader reader, in MessageTarget inner, int depth, bool isNeeded)
    {
        bool typeSeen = false;
        bool valueSeen = false;
        while (NextName(ref reader))
        {
            if (reader.ValueTextEquals("@type"u8))
            {
                CheckOnce(ref typeSeen, "@type");
                Skip(ref reader);
            }
            else if (reader.ValueTextEquals("value"u8))
            {
                CheckOnce(ref valueSeen, "value");
                Path.PushField("value");
                Next(ref reader);
                ReadMessage(ref reader, inner, depth + 1);
                Path.Pop();
            }
            else if (Options.IgnoreUnknownFields)
            {
                Skip(ref reader);
            }
            else
            {
                throw Invalid(
                    $"'{ValueText.OfName(reader.GetString()!)}' is not allowed in an Any of "
                    + $"{inner.Layout.Type.FullName}, which has '@type' and 'value'.");
            }
        }
        if (isNeeded && !valueSeen)
        {
            throw Invalid($"{inner.Layout.Type.FullName} in an Any needs the key 'value' beside '@type'.");
        }
    }
}
