using System.Runtime.InteropServices;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Json;

/// <summary>One run of writing a message as ProtoJSON.</summary>
internal sealed class JsonMessageWriter(
    JsonTextWriter writer, RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
    : FormatWriter(root, views, options)
{
    private const string NullValue = "google.protobuf.NullValue";

    private readonly JsonTextWriter _writer = writer;

    // The names of the last message type: consecutive messages of a list have the same type.
    private JsonNames _names = JsonNames.None;

    public void Write(DynamicMessage message, int depth)
    {
        CheckDepth(depth);
        FieldLayout[] fields = message.Layout.Fields;
        switch (message.Layout.WellKnown)
        {
            case WellKnownType.None:
                _writer.WriteStart((byte)'{');
                WriteFields(message, depth);
                _writer.WriteEnd((byte)'}');
                break;
            case WellKnownType.Wrapper:
                WriteSingle(message, fields[0], depth);
                break;
            case WellKnownType.Struct:
                WriteMap(fields[0],
                    message.References[fields[0].Slot] as OrderedDictionary<object, object>, depth);
                break;
            case WellKnownType.ListValue:
                WriteList(fields[0], message.References[fields[0].Slot], depth);
                break;
            case WellKnownType.Value:
                WriteValue(message, depth);
                break;
            case WellKnownType.Any:
                WriteAny(message, depth);
                break;
            default:
                _writer.WriteString(
                    WellKnownText.TryWrite(message, out string? text, out string? problem)
                    ? text
                    : throw Invalid(problem));
                break;
        }
    }

    private void WriteGenerated(MessageLayout layout, IMessage message, int depth)
    {
        DynamicMessage view = Views.Load(layout, message);
        Write(view, depth);
        Views.Release(view);
    }

    private void WriteFields(DynamicMessage message, int depth)
    {
        JsonNames names = _names.Layout == message.Layout ? _names : _names = JsonNames.From(message.Layout);
        foreach (FieldLayout field in message.Layout.Shown)
        {
            WriteField(message, field, names, depth);
        }
        foreach (FieldLayout field in message.Layout.Extensions)
        {
            WriteField(message, field, names, depth);
        }
        if (!message.UnknownFieldBytes.IsEmpty)
        {
            foreach ((DynamicMessage extended, FieldLayout field) in ServerExtensionsOf(message))
            {
                WriteField(extended, field, JsonNames.From(extended.Layout), depth);
            }
        }
    }

    private void WriteField(DynamicMessage message, FieldLayout field, JsonNames names, int depth)
    {
        if (!IsWritten(message, field))
        {
            return;
        }
        Path.PushField(field.Info.Name);
        _writer.WriteName(names.For(field, Options.UseProtoNames));
        WriteContent(message, field, depth);
        Path.Pop();
    }

    /// <summary>Writes only the value of a field; null for an absent message.</summary>
    public void WriteValueOf(DynamicMessage message, FieldLayout field)
    {
        Path.PushField(field.Info.Name);
        if (field is { IsMessage: true, IsRepeated: false } && !message.Has(field))
        {
            _writer.WriteRaw("null"u8);
        }
        else
        {
            WriteContent(message, field, depth: 0);
        }
        Path.Pop();
    }

    private void WriteContent(DynamicMessage message, FieldLayout field, int depth)
    {
        if (field.IsMap)
        {
            WriteMap(field, message.References[field.Slot] as OrderedDictionary<object, object>, depth);
        }
        else if (field.IsRepeated)
        {
            WriteList(field, message.References[field.Slot], depth);
        }
        else
        {
            WriteSingle(message, field, depth);
        }
    }

    private void WriteSingle(DynamicMessage message, FieldLayout field, int depth)
    {
        if (!field.IsReference)
        {
            WriteScalar(field, message.Scalars[field.Slot]);
            return;
        }
        switch (message.References[field.Slot])
        {
            case DynamicMessage child:
                Write(child, depth + 1);
                break;
            case byte[] bytes:
                _writer.WriteBase64(bytes);
                break;
            case string text:
                _writer.WriteString(text);
                break;
            case IMessage generated:
                WriteGenerated(field.Message, generated, depth + 1);
                break;
            default:
                _writer.WriteString("");
                break;
        }
    }

    private void WriteScalar(FieldLayout field, ulong bits)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.Bool:
                _writer.WriteRaw(bits != 0 ? "true"u8 : "false"u8);
                break;
            case RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64:
                _writer.WriteQuotedNumber((long)bits);
                break;
            case RpcFieldKind.UInt64 or RpcFieldKind.Fixed64:
                _writer.WriteQuotedNumber(bits);
                break;
            case RpcFieldKind.UInt32 or RpcFieldKind.Fixed32:
                _writer.WriteNumber((uint)bits);
                break;
            case RpcFieldKind.Double:
                WriteDouble(ScalarValue.ToDouble(bits));
                break;
            case RpcFieldKind.Float:
                WriteSingle(ScalarValue.ToSingle(bits));
                break;
            case RpcFieldKind.Enum:
                WriteEnum(field, (int)bits);
                break;
            default:
                _writer.WriteNumber((int)bits);
                break;
        }
    }

    private void WriteDouble(double value)
    {
        if (value == 0 && double.IsNegative(value))
        {
            // Many readers parse -0 as an integer, which has no negative zero.
            _writer.WriteRaw("-0.0"u8);
        }
        else if (double.IsFinite(value))
        {
            _writer.WriteNumber(value);
        }
        else
        {
            _writer.WriteString(double.IsNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        }
    }

    private void WriteSingle(float value)
    {
        if (float.IsFinite(value) && value != 0)
        {
            _writer.WriteNumber(value);
        }
        else
        {
            WriteDouble(value);
        }
    }

    private void WriteEnum(FieldLayout field, int number)
    {
        if (field.Enum!.FullName == NullValue)
        {
            _writer.WriteRaw("null"u8);
        }
        else if (field.Enum.FindName(number) is { } name)
        {
            _writer.WriteString(name);
        }
        else
        {
            _writer.WriteNumber(number);
        }
    }

    private void WriteList(FieldLayout field, object? list, int depth)
    {
        _writer.WriteStart((byte)'[');
        switch (list)
        {
            case List<DynamicMessage> messages:
                for (int i = 0; i < messages.Count; i++)
                {
                    Path.PushIndex(i);
                    Write(messages[i], depth + 1);
                    Path.Pop();
                }
                break;
            case List<string> texts:
                texts.ForEach(_writer.WriteString);
                break;
            case List<byte[]> values:
                values.ForEach(bytes => _writer.WriteBase64(bytes));
                break;
            case List<int> numbers:
                WriteScalars(field, numbers, ScalarValue.ToBits);
                break;
            case List<uint> numbers:
                WriteScalars(field, numbers, number => number);
                break;
            case List<long> numbers:
                WriteScalars(field, numbers, number => (ulong)number);
                break;
            case List<ulong> numbers:
                WriteScalars(field, numbers, number => number);
                break;
            case List<bool> flags:
                WriteScalars(field, flags, flag => flag ? 1UL : 0);
                break;
            case List<float> numbers:
                WriteScalars(field, numbers, ScalarValue.ToBits);
                break;
            case List<double> numbers:
                WriteScalars(field, numbers, ScalarValue.ToBits);
                break;
            case IReadOnlyList<IMessage> generated:
                for (int i = 0; i < generated.Count; i++)
                {
                    Path.PushIndex(i);
                    WriteGenerated(field.Message, generated[i], depth + 1);
                    Path.Pop();
                }
                break;
        }
        _writer.WriteEnd((byte)']');
    }

    private void WriteScalars<T>(FieldLayout field, List<T> list, Func<T, ulong> toBits)
    {
        foreach (T item in CollectionsMarshal.AsSpan(list))
        {
            WriteScalar(field, toBits(item));
        }
    }

    private void WriteMap(FieldLayout field, OrderedDictionary<object, object>? map, int depth)
    {
        _writer.WriteStart((byte)'{');
        foreach ((object key, object value) in map ?? [])
        {
            Path.PushKey(key);
            _writer.WriteName(ScalarText.OfKey(key));
            switch (value)
            {
                case DynamicMessage child:
                    // Two levels deeper: in the binary form, an entry is a message that contains the value.
                    Write(child, depth + 2);
                    break;
                case string text:
                    _writer.WriteString(text);
                    break;
                case byte[] bytes:
                    _writer.WriteBase64(bytes);
                    break;
                case IMessage generated:
                    WriteGenerated(field.Value.Message, generated, depth + 2);
                    break;
                default:
                    ScalarValue.TryUnbox(field.Value.Kind, value, out ulong bits);
                    WriteScalar(field.Value, bits);
                    break;
            }
            Path.Pop();
        }
        _writer.WriteEnd((byte)'}');
    }

    private void WriteValue(DynamicMessage message, int depth)
    {
        FieldLayout[] fields = message.Layout.Fields;
        FieldLayout? chosen = message.ChosenOf(fields[0].CaseSlot);
        if (chosen is null)
        {
            _writer.WriteRaw("null"u8);
        }
        else if (chosen.Kind == RpcFieldKind.Double &&
            !double.IsFinite(ScalarValue.ToDouble(message.Scalars[chosen.Slot])))
        {
            throw Invalid("a Value cannot hold NaN or an infinite number in JSON. Write it as text.");
        }
        else
        {
            WriteSingle(message, chosen, depth);
        }
    }

    private void WriteAny(DynamicMessage any, int depth)
    {
        string typeUrl = any.References[any.Layout.Fields[0].Slot] as string ?? "";
        byte[] bytes = any.References[any.Layout.Fields[1].Slot] as byte[] ?? [];
        _writer.WriteStart((byte)'{');
        if (!NamesType(typeUrl) && (typeUrl.Length > 0 || bytes.Length > 0))
        {
            // No reader accepts such a URL as '@type', but a reply must not get lost. So the Any is written
            // as any other message.
            JsonNames names = JsonNames.From(any.Layout);
            _writer.WriteName(names.For(any.Layout.Fields[0], Options.UseProtoNames));
            _writer.WriteString(typeUrl);
            _writer.WriteName(names.For(any.Layout.Fields[1], Options.UseProtoNames));
            _writer.WriteBase64(bytes);
        }
        else if (typeUrl.Length > 0)
        {
            DynamicMessage? inner = Unpack(any);
            _writer.WriteName("\"@type\":"u8);
            _writer.WriteString(typeUrl);
            if (inner is null)
            {
                // ProtoJSON has no form for a type that the schema lacks, but a reply must not get lost.
                _writer.WriteName("\"value\":"u8);
                _writer.WriteBase64(bytes);
            }
            else if (inner.Layout.WellKnown == WellKnownType.None)
            {
                CheckDepth(depth + 1);
                WriteFields(inner, depth + 1);
            }
            else
            {
                _writer.WriteName("\"value\":"u8);
                Write(inner, depth + 1);
            }
        }
        _writer.WriteEnd((byte)'}');
    }
}

/// <summary>ProtoJSON.</summary>
/// <remarks>Stricter than the standard: a duplicate key is an error, because readers differ
/// in which of the two values they use.</remarks>
internal sealed class JsonFormat(FormatRow row) : MessageFormat(row)
{
    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options)
    {
        using JsonTextWriter writer = new(output, options.Indented);
        new JsonMessageWriter(writer, message.Type, views, options).Write(message, 0);
        writer.Flush();
    }

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new JsonMessageReader(input, target.Layout.Type, options).Read(target);
}
