using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages.Binary;

/// <summary>Writes a <see cref="DynamicMessage"/> in protobuf's binary format: fields by number, then what
/// was unknown.</summary>
/// <remarks>The writer goes backwards, so everything here runs from last to first.</remarks>
internal static class MessageEncoder
{
    public static void Write(ref WireWriter writer, DynamicMessage message) =>
        WriteFields(ref writer, message, 0);

    /// <exception cref="RpcException">InvalidArgument: the message is nested too deep.</exception>
    public static void RequireDepth(DynamicMessage message, int depth)
    {
        if (depth > MessageLayout.MaxDepth)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A {message.Type.FullName} cannot be sent: messages are nested more than " +
                $"{MessageLayout.MaxDepth} deep, or a message contains itself.")
            {
                ErrorId = RpcErrorIds.TooDeep,
            };
        }
    }

    private static void WriteFields(ref WireWriter writer, DynamicMessage message, int depth)
    {
        RequireDepth(message, depth);
        ReadOnlySpan<byte> unknown = message.UnknownFieldBytes;
        if (!unknown.IsEmpty)
        {
            writer.WriteRaw(unknown);
        }
        FieldLayout[] fields = message.Layout.Fields;
        ScalarSlots scalars = message.Scalars;
        Span<object?> references = message.References;
        for (int i = fields.Length - 1; i >= 0; i--)
        {
            FieldLayout field = fields[i];
            if (field.IsReference)
            {
                if (references[field.Slot] is { } value)
                {
                    WriteReference(ref writer, field, value, depth);
                }
                else if (field.IsRequired)
                {
                    writer.IsIncomplete = true;
                }
                continue;
            }
            ulong bits = scalars[field.Slot];
            if (field.PresenceMask == 0 ? bits == 0 : (scalars[field.PresenceWord] & field.PresenceMask) == 0)
            {
                if (field.IsRequired)
                {
                    writer.IsIncomplete = true;
                }
                continue;
            }
            switch (field.Way)
            {
                case FieldWay.Varint or FieldWay.Int32:
                    writer.WriteVarint(bits, field.Tag);
                    break;
                case FieldWay.Fixed64:
                    writer.WriteFixed64(bits, field.Tag);
                    break;
                default:
                    WriteScalar(ref writer, field.Kind, bits, field.Tag);
                    break;
            }
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void WriteReference(ref WireWriter writer, FieldLayout field, object value, int depth)
    {
        // A slot never holds another type than its field's.
        switch (field.Way)
        {
            case FieldWay.String:
                writer.WriteString(Unsafe.As<string>(value), field.Tag);
                break;
            case FieldWay.Bytes:
                writer.WriteBytes(Unsafe.As<byte[]>(value), field.Tag);
                break;
            case FieldWay.Message:
                WriteNested(ref writer, field, Unsafe.As<DynamicMessage>(value), depth);
                break;
            case FieldWay.Messages:
                List<DynamicMessage> messages = Unsafe.As<List<DynamicMessage>>(value);
                for (int i = messages.Count - 1; i >= 0; i--)
                {
                    WriteNested(ref writer, field, messages[i], depth);
                }
                break;
            default:
                WriteOther(ref writer, field, value, depth);
                break;
        }
    }

    private static void WriteOther(ref WireWriter writer, FieldLayout field, object value, int depth)
    {
        if (field.IsMap)
        {
            WriteMap(ref writer, field, (OrderedDictionary<object, object>)value, depth);
        }
        else if (field.IsRepeated)
        {
            WriteList(ref writer, field, value, depth);
        }
        else if (field.IsMessageSetItem)
        {
            WriteItem(ref writer, field, (DynamicMessage)value, depth);
        }
        else
        {
            WriteValue(ref writer, field, value, depth);
        }
    }

    private static void WriteItem(
        ref WireWriter writer, FieldLayout field, DynamicMessage message, int depth)
    {
        writer.WriteVarint(MessageSetItem.EndTag);
        int before = writer.Length;
        WriteFields(ref writer, message, depth + 1);
        writer.WriteVarint((uint)(writer.Length - before));
        writer.WriteVarint(MessageSetItem.MessageTag);
        writer.WriteVarint((uint)field.Info.Number);
        writer.WriteVarint(MessageSetItem.TypeIdTag);
        writer.WriteVarint(MessageSetItem.StartTag);
    }

    private static void WriteList(ref WireWriter writer, FieldLayout field, object list, int depth)
    {
        switch (list)
        {
            case List<DynamicMessage> messages:
                for (int i = messages.Count - 1; i >= 0; i--)
                {
                    WriteMessage(ref writer, field, messages[i], depth);
                }
                break;
            case List<string> texts:
                for (int i = texts.Count - 1; i >= 0; i--)
                {
                    writer.WriteString(texts[i], field.Tag);
                }
                break;
            case List<byte[]> values:
                for (int i = values.Count - 1; i >= 0; i--)
                {
                    writer.WriteBytes(values[i], field.Tag);
                }
                break;
            case List<int> numbers:
                WriteNumbers(ref writer, field, numbers, number => ScalarValue.Of(number));
                break;
            case List<uint> numbers:
                WriteNumbers(ref writer, field, numbers, number => number);
                break;
            case List<long> numbers:
                WriteNumbers(ref writer, field, numbers, number => (ulong)number);
                break;
            case List<ulong> numbers:
                WriteNumbers(ref writer, field, numbers, number => number);
                break;
            case List<bool> flags:
                WriteNumbers(ref writer, field, flags, flag => flag ? 1UL : 0);
                break;
            case List<float> numbers:
                WriteNumbers(ref writer, field, numbers, ScalarValue.Of);
                break;
            case List<double> numbers:
                WriteNumbers(ref writer, field, numbers, ScalarValue.Of);
                break;
        }
    }

    private static void WriteNumbers<T>(
        ref WireWriter writer, FieldLayout field, List<T> list, Func<T, ulong> toBits)
    {
        ReadOnlySpan<T> values = CollectionsMarshal.AsSpan(list);
        int before = writer.Length;
        for (int i = values.Length - 1; i >= 0; i--)
        {
            ulong bits = toBits(values[i]);
            if (field.IsPacked)
            {
                WriteScalar(ref writer, field.Kind, bits);
            }
            else
            {
                WriteScalar(ref writer, field.Kind, bits, field.Tag);
            }
        }
        if (field.IsPacked && values.Length > 0)
        {
            writer.WriteVarint((uint)(writer.Length - before), field.PackedTag);
        }
    }

    private static void WriteMap(
        ref WireWriter writer, FieldLayout field, OrderedDictionary<object, object> map, int depth)
    {
        for (int i = map.Count - 1; i >= 0; i--)
        {
            (object key, object value) = map.GetAt(i);
            int before = writer.Length;
            WriteValue(ref writer, field.Value, value, depth + 1);
            WriteValue(ref writer, field.Key, key, depth + 1);
            writer.WriteVarint((uint)(writer.Length - before), field.Tag);
        }
    }

    private static void WriteValue(ref WireWriter writer, FieldLayout field, object value, int depth)
    {
        switch (value)
        {
            case DynamicMessage message:
                WriteMessage(ref writer, field, message, depth);
                return;
            case string text:
                writer.WriteString(text, field.Tag);
                break;
            case byte[] bytes:
                writer.WriteBytes(bytes, field.Tag);
                break;
            default:
                ScalarValue.TryUnbox(field.Kind, value, out ulong bits);
                WriteScalar(ref writer, field.Kind, bits, field.Tag);
                break;
        }
    }

    private static void WriteMessage(
        ref WireWriter writer, FieldLayout field, DynamicMessage message, int depth)
    {
        if (field.Kind == RpcFieldKind.Group)
        {
            writer.WriteVarint(field.EndTag);
            WriteFields(ref writer, message, depth + 1);
            writer.WriteVarint(field.Tag);
        }
        else
        {
            WriteNested(ref writer, field, message, depth);
        }
    }

    private static void WriteNested(
        ref WireWriter writer, FieldLayout field, DynamicMessage message, int depth)
    {
        int before = writer.Length;
        WriteFields(ref writer, message, depth + 1);
        writer.WriteVarint((uint)(writer.Length - before), field.Tag);
    }

    private static void WriteScalar(ref WireWriter writer, RpcFieldKind kind, ulong bits, uint tag)
    {
        WriteScalar(ref writer, kind, bits);
        writer.WriteVarint(tag);
    }

    private static void WriteScalar(ref WireWriter writer, RpcFieldKind kind, ulong bits)
    {
        switch (kind)
        {
            case RpcFieldKind.SInt32:
                writer.WriteVarint(ScalarValue.ToZigZag32((int)bits));
                break;
            case RpcFieldKind.SInt64:
                writer.WriteVarint(ScalarValue.ToZigZag64((long)bits));
                break;
            case RpcFieldKind.Fixed32 or RpcFieldKind.SFixed32 or RpcFieldKind.Float:
                writer.WriteFixed32((uint)bits);
                break;
            case RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 or RpcFieldKind.Double:
                writer.WriteFixed64(bits);
                break;
            default:
                writer.WriteVarint(bits);
                break;
        }
    }
}
