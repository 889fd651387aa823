using System.Text.Json;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

/// <summary>One run of reading a message of ProtoJSON.</summary>
internal sealed partial class JsonMessageReader(
    in ReadOnlySequence<byte> json, RpcMessageInfo root, FormatOptions options)
    : FormatReader(root, options, json.Length)
{
    /// <summary>Objects and the lists between them, for messages nested as deep as the limit.</summary>
    public const int MaxJsonDepth = (2 * MessageLayout.MaxDepth) + 2;

    private const int MaxReason = 300;
    private const string NullValue = "google.protobuf.NullValue";

    private static readonly JsonReaderOptions Reading = new() { MaxDepth = MaxJsonDepth };

    private readonly ReadOnlySequence<byte> _json = json;
    private long _offset;

    // The names of the last message type: consecutive messages of a list have the same type.
    private JsonNames _names = JsonNames.None;
    private string? _where;

    // Lines are only counted for an error.
    protected override string Where => _where ?? TextPosition.Describe(_json, _offset, Options.Origin);

    /// <summary>The field whose value is the whole text; null if the text is the message.</summary>
    public FieldLayout? Only { get; init; }

    protected override void ReadAll(in MessageTarget target)
    {
        Utf8JsonReader reader = JsonSequence.Read(_json, Reading);
        try
        {
            Next(ref reader);
            if (Only is null)
            {
                ReadMessage(ref reader, target, 0);
            }
            else
            {
                ReadOnly(ref reader, target, Only);
            }
            if (reader.Read())
            {
                throw Malformed("there is text after the end of the message.");
            }
        }
        catch (JsonException e)
        {
            _where = Options.Origin.Place(e.LineNumber ?? 0, e.BytePositionInLine ?? 0);
            throw reader.CurrentDepth >= MaxJsonDepth
                ? TooDeep()
                : Malformed($"this is not JSON: {Reason(e)}", e);
        }
        catch (InvalidOperationException e)
        {
            _offset = reader.TokenStartIndex;
            throw Malformed("the text is not valid UTF-8, or has half of a surrogate pair.", e);
        }
    }

    private void ReadOnly(ref Utf8JsonReader reader, in MessageTarget message, FieldLayout field)
    {
        Path.PushField(field.Info.Name);
        if (reader.TokenType != JsonTokenType.Null || (!field.IsRepeated && TakesNull(field)))
        {
            ReadField(ref reader, message, field, depth: 0);
        }
        Path.Pop();
    }

    /// <summary>Reads the value at the position of the reader.</summary>
    private void ReadMessage(ref Utf8JsonReader reader, in MessageTarget message, int depth)
    {
        _offset = reader.TokenStartIndex;
        CheckDepth(depth);
        if (message.Layout.WellKnown != WellKnownType.None)
        {
            ReadWellKnown(ref reader, message, depth);
            return;
        }
        Expect(ref reader, JsonTokenType.StartObject, message.Layout.Type.FullName, "an object");
        ReadFields(ref reader, message, depth, inAny: false);
    }

    /// <summary>Reads the members of an object; within an Any, <c>@type</c> is passed over.</summary>
    private void ReadFields(ref Utf8JsonReader reader, in MessageTarget message, int depth, bool inAny)
    {
        MessageLayout layout = message.Layout;
        JsonNames names = _names.Layout == layout ? _names : _names = JsonNames.From(layout);
        SeenFields seen = new(layout.Fields.Length);
        bool typeSeen = false;
        int next = 0;
        while (NextName(ref reader))
        {
            FieldLayout? field = names.Find(
                reader.ValueIsEscaped ? Encoding.UTF8.GetBytes(reader.GetString()!) : BytesOf(ref reader),
                ref next);
            if (field is null)
            {
                if (inAny && reader.ValueTextEquals("@type"u8))
                {
                    CheckOnce(ref typeSeen, "@type");
                }
                else if (!reader.ValueIsEscaped && BytesOf(ref reader) is [(byte)'[', ..]
                    && TryReadServerExtension(ref reader, message, reader.GetString()!, depth))
                {
                    continue;
                }
                else if (!Options.IgnoreUnknownFields)
                {
                    throw UnknownField(layout, reader.GetString()!);
                }
                Skip(ref reader);
                continue;
            }
            Path.PushField(field.Info.Name);
            CheckOnce(ref seen, field);
            Next(ref reader);
            if (reader.TokenType != JsonTokenType.Null || (!field.IsRepeated && TakesNull(field)))
            {
                CheckOneof(message, field);
                ReadField(ref reader, message, field, depth);
            }
            Path.Pop();
        }
    }

    private bool TryReadServerExtension(
        ref Utf8JsonReader reader, in MessageTarget message, string name, int depth)
    {
        if (message.Message is not DynamicMessage dynamic
            || ServerExtension.FindExtended(message.Layout.Type, name) is not { } extended)
        {
            return false;
        }
        DynamicMessage holder = new(extended);
        Path.PushField(name);
        Next(ref reader);
        if (reader.TokenType != JsonTokenType.Null)
        {
            ReadField(ref reader, new MessageTarget(holder), holder.Layout.Find(name)!, depth);
        }
        Path.Pop();
        dynamic.AppendUnknown(holder.ToByteArray());
        return true;
    }

    /// <summary>Reads one value of a field, or all of a repeated one.</summary>
    private void ReadField(ref Utf8JsonReader reader, in MessageTarget message, FieldLayout field, int depth)
    {
        if (field.IsMap)
        {
            ReadMap(ref reader, message, field, depth);
        }
        else if (field.IsRepeated)
        {
            ReadList(ref reader, message, field, depth);
        }
        else
        {
            ReadOne(ref reader, message, field, depth);
        }
    }

    private void ReadList(ref Utf8JsonReader reader, in MessageTarget message, FieldLayout field, int depth)
    {
        Expect(ref reader, JsonTokenType.StartArray, field.Info.FullName, "a list");
        for (int index = 0; NextItem(ref reader); index++)
        {
            Path.PushIndex(index);
            CheckElement(ref reader, field);
            ReadOne(ref reader, message, field, depth);
            Path.Pop();
        }
    }

    private void ReadMap(ref Utf8JsonReader reader, in MessageTarget message, FieldLayout field, int depth)
    {
        Expect(ref reader, JsonTokenType.StartObject, field.Info.FullName, "an object");
        GeneratedType? type = message.ClassOf(field)?.Properties.Held(field.Value);
        // Keys whose enum value is ignored are not in the map, so duplicate keys are found by a separate set.
        HashSet<object>? keys =
            Options.IgnoreUnknownFields && field.Value.Enum is not null ? new(MapKeys.Boxed) : null;
        while (NextName(ref reader))
        {
            object key = ReadKey(ref reader, field.Key);
            Path.PushKey(key);
            if (keys?.Add(key) == false)
            {
                throw Invalid("the key occurs twice. Remove one of them.");
            }
            Next(ref reader);
            CheckElement(ref reader, field.Value);
            // Two levels deeper: in the binary form, an entry is a message that contains the value.
            if (ReadPart(ref reader, field.Value, type, depth + 1) is { } value)
            {
                AddEntry(message, field, key, value);
            }
            Path.Pop();
        }
    }

    private void Next(ref Utf8JsonReader reader)
    {
        CountToken();
        if (!reader.Read())
        {
            throw Malformed("the text ends before the message does.");
        }
        _offset = reader.TokenStartIndex;
    }

    /// <summary>Goes to the end of a value, or of a name and its value.</summary>
    private void Skip(ref Utf8JsonReader reader)
    {
        if (reader.TokenType == JsonTokenType.PropertyName)
        {
            Next(ref reader);
        }
        if (reader.TokenType is not (JsonTokenType.StartObject or JsonTokenType.StartArray))
        {
            return;
        }
        int depth = reader.CurrentDepth;
        do
        {
            Next(ref reader);
        }
        while (reader.CurrentDepth > depth);
    }

    private void Expect(ref Utf8JsonReader reader, JsonTokenType token, string name, string what)
    {
        if (reader.TokenType != token)
        {
            throw Invalid($"{name} needs {what}, not {ShortText(ref reader)}.");
        }
    }

    private RpcException Invalid(ref Utf8JsonReader reader, string problem)
    {
        _offset = reader.TokenStartIndex;
        return base.Invalid($"{ShortText(ref reader)} {problem}");
    }

    private bool NextName(ref Utf8JsonReader reader)
    {
        Next(ref reader);
        return reader.TokenType != JsonTokenType.EndObject;
    }

    private bool NextItem(ref Utf8JsonReader reader)
    {
        Next(ref reader);
        return reader.TokenType != JsonTokenType.EndArray;
    }

    private void ReadOne(ref Utf8JsonReader reader, in MessageTarget message, FieldLayout field, int depth)
    {
        if (!field.IsReference || (field.IsRepeated && !IsReferenceKind(field.Kind)))
        {
            if (TryReadScalar(ref reader, field, out ulong bits))
            {
                message.Store(field, bits);
            }
        }
        else
        {
            message.Store(field, ReadReference(ref reader, field, message.ClassOf(field), depth));
        }
    }

    /// <summary>The value of a map entry; null if it is omitted.</summary>
    private object? ReadPart(
        ref Utf8JsonReader reader, FieldLayout field, GeneratedType? type, int depth)
    {
        if (field.IsReference)
        {
            return ReadReference(ref reader, field, type, depth);
        }
        return TryReadScalar(ref reader, field, out ulong bits) ? ScalarValue.Box(field.Kind, bits) : null;
    }

    private object ReadReference(
        ref Utf8JsonReader reader, FieldLayout field, GeneratedType? type, int depth)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                Expect(ref reader, JsonTokenType.String, field.Info.FullName, "text in quotes");
                return reader.GetString()!;
            case RpcFieldKind.Bytes:
                Expect(ref reader, JsonTokenType.String, field.Info.FullName, "base64 in quotes");
                // TryGetBytesFromBase64 accepts spaces and line breaks, which base64 does not allow (RFC
                // 4648, section 3.3).
                if ((!reader.ValueIsEscaped && !BytesOf(ref reader).ContainsAny(" \t\r\n"u8)
                        && reader.TryGetBytesFromBase64(out byte[]? bytes)) ||
                    Base64Text.TryDecode(reader.GetString()!, out bytes))
                {
                    return bytes;
                }
                throw Invalid(ref reader, "is not base64.");
            default:
                MessageTarget child = NewMessage(field.Message, type);
                ReadMessage(ref reader, child, depth + 1);
                return child.Message;
        }
    }

    private object ReadKey(ref Utf8JsonReader reader, FieldLayout key)
    {
        string text = reader.GetString()!;
        return key.Kind switch
        {
            RpcFieldKind.String => text,
            RpcFieldKind.Bool => text switch
            {
                "true" => true,
                "false" => false,
                _ => throw Invalid(text, "is not a bool; the key is \"true\" or \"false\"."),
            },
            _ => JsonNumber.Read(key, Encoding.UTF8.GetBytes(text), out ulong bits) is { } problem
                ? throw Invalid(text, problem)
                : ScalarValue.Box(key.Kind, bits),
        };
    }

    private void CheckElement(ref Utf8JsonReader reader, FieldLayout field)
    {
        if (reader.TokenType == JsonTokenType.Null && !TakesNull(field))
        {
            throw Invalid("null cannot be an element of a list or map; leave it out.");
        }
    }

    private static bool TakesNull(FieldLayout field) =>
        (field.IsMessage && !field.IsMap && field.Message.WellKnown == WellKnownType.Value) ||
        field.Enum?.FullName == NullValue;

    private static bool IsReferenceKind(RpcFieldKind kind) =>
        kind is RpcFieldKind.String or RpcFieldKind.Bytes or RpcFieldKind.Message or RpcFieldKind.Group;

    private static string ShortText(ref Utf8JsonReader reader) => reader.TokenType switch
    {
        JsonTokenType.StartObject => "an object",
        JsonTokenType.StartArray => "a list",
        JsonTokenType.String => ValueText.Format(reader.GetString()),
        _ => Encoding.UTF8.GetString(BytesOf(ref reader)[..Math.Min(60, BytesOf(ref reader).Length)]),
    };

    // A value in two segments is copied; the rest of the text is not.
    private static ReadOnlySpan<byte> BytesOf(ref Utf8JsonReader reader) =>
        reader.HasValueSequence ? reader.ValueSequence.ToArray() : reader.ValueSpan;

    // Only the first sentence, because the others repeat the position. It may quote the whole rest of the
    // text.
    /// <summary>The error without its position.</summary>
    internal static string Reason(JsonException e)
    {
        int end = e.Message.IndexOf(" LineNumber:", StringComparison.Ordinal);
        string reason = end < 0 ? e.Message : e.Message[..end];
        return reason.Length <= MaxReason ? reason : $"{reason.AsSpan(0, MaxReason)}...";
    }

    /// <returns>False when the value is the name of an enum that is not known, and these are passed
    /// over.</returns>
    private bool TryReadScalar(ref Utf8JsonReader reader, FieldLayout field, out ulong bits)
    {
        bits = 0;
        switch (field.Kind)
        {
            case RpcFieldKind.Bool:
                if (reader.TokenType is not (JsonTokenType.True or JsonTokenType.False))
                {
                    throw Invalid(ref reader, "is not a bool; write true or false without quotes.");
                }
                bits = reader.TokenType == JsonTokenType.True ? 1UL : 0;
                return true;
            case RpcFieldKind.Enum:
                return TryReadEnum(ref reader, field, out bits);
            default:
                bits = ReadNumber(ref reader, field);
                return true;
        }
    }

    private ulong ReadNumber(ref Utf8JsonReader reader, FieldLayout field)
    {
        if (reader.TokenType == JsonTokenType.Number)
        {
            if (field.Kind is RpcFieldKind.Int32 or RpcFieldKind.SInt32 && reader.TryGetInt32(out int number))
            {
                return ScalarValue.ToBits(number);
            }
            return JsonNumber.Read(field, BytesOf(ref reader), out ulong bits) is { } problem
                ? throw Invalid(ref reader, problem)
                : bits;
        }
        if (reader.TokenType != JsonTokenType.String)
        {
            throw Invalid(ref reader, $"is not a number, which {field.Info.FullName} needs.");
        }
        ReadOnlySpan<byte> text =
            reader.ValueIsEscaped ? Encoding.UTF8.GetBytes(reader.GetString()!) : BytesOf(ref reader);
        if (field.Kind is RpcFieldKind.Double or RpcFieldKind.Float && SpecialOf(text) is { } special)
        {
            return field.Kind == RpcFieldKind.Double
                ? ScalarValue.ToBits(special)
                : ScalarValue.ToBits((float)special);
        }
        return JsonNumber.Read(field, text, out ulong quoted) is { } wrong
            ? throw Invalid(ref reader, wrong)
            : quoted;
    }

    private static double? SpecialOf(ReadOnlySpan<byte> text) =>
        text.SequenceEqual("NaN"u8) ? ScalarValue.NaN
        : text.SequenceEqual("Infinity"u8) ? double.PositiveInfinity
        : text.SequenceEqual("-Infinity"u8) ? double.NegativeInfinity
        : null;

    private bool TryReadEnum(ref Utf8JsonReader reader, FieldLayout field, out ulong bits)
    {
        RpcEnumInfo type = field.Enum!;
        switch (reader.TokenType)
        {
            case JsonTokenType.Null:
                // TakesNull has accepted null, so the enum is google.protobuf.NullValue.
                bits = 0;
                return true;
            case JsonTokenType.String when type.TryGetExactNumber(reader.GetString()!, out int number):
                bits = ScalarValue.ToBits(number);
                return true;
            case JsonTokenType.String:
                bits = 0;
                if (Options.IgnoreUnknownFields)
                {
                    return false;
                }
                throw Invalid(ref reader, ValueText.NotInEnum(type, reader.GetString()!));
            case JsonTokenType.Number:
                if (JsonNumber.Read(field, BytesOf(ref reader), out bits) is not null)
                {
                    throw Invalid(ref reader, $"is not a number of the enum {type.FullName}.");
                }
                if (field.ClosedNumbers is { } known && !known.Contains((int)bits))
                {
                    return Options.IgnoreUnknownFields
                        ? false
                        : throw Invalid(
                            ref reader, $"is not a number of the enum {type.FullName}, which is closed.");
                }
                return true;
            default:
                throw Invalid(ref reader, $"is not in the enum {type.FullName}; give a name or a number.");
        }
    }
}
