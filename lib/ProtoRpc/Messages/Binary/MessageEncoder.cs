using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages.Binary;

/// <summary>Writes a <see cref="DynamicMessage"/> in the binary format of Protocol Buffers: fields by number,
/// then unknown fields.</summary>
/// <remarks>The writer goes backwards, so fields and elements are written from last to first.</remarks>
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.TooDeep,
                $"The message {message.Type.FullName} cannot be sent: messages are nested more than " +
                $"{MessageLayout.MaxDepth} deep, or a message contains itself.");
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
        // Set has checked the value, so a slot only contains the type of its field.
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
                WriteNumbers(ref writer, field, numbers, number => ScalarValue.ToBits(number));
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
                WriteNumbers(ref writer, field, numbers, ScalarValue.ToBits);
                break;
            case List<double> numbers:
                WriteNumbers(ref writer, field, numbers, ScalarValue.ToBits);
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

/// <summary>Computes how many bytes <see cref="MessageEncoder"/> writes. Google.Protobuf asks for the size
/// before it writes.</summary>
internal static class MessageSizer
{
    /// <exception cref="RpcException">InvalidArgument: nested too deep; ResourceExhausted: larger than an
    /// array can be.</exception>
    public static int SizeOf(DynamicMessage message)
    {
        long size = OfFields(message, 0);
        return size <= Array.MaxLength ? (int)size : throw MessageErrors.LargerThanArrays();
    }

    private static long OfFields(DynamicMessage message, int depth)
    {
        MessageEncoder.RequireDepth(message, depth);
        long size = message.UnknownFieldBytes.Length;
        ScalarSlots scalars = message.Scalars;
        Span<object?> references = message.References;
        foreach (FieldLayout field in message.Layout.Fields)
        {
            if (field.IsReference)
            {
                size += references[field.Slot] is { } value ? OfReference(field, value, depth) : 0;
                continue;
            }
            ulong bits = scalars[field.Slot];
            bool isSet = field.PresenceMask == 0
                ? bits != 0
                : (scalars[field.PresenceWord] & field.PresenceMask) != 0;
            size += isSet ? field.TagSize + OfScalar(field.Kind, bits) : 0;
        }
        return size;
    }

    private static long OfReference(FieldLayout field, object value, int depth)
    {
        // Set has checked the value, so a slot only contains the type of its field.
        switch (field.Way)
        {
            case FieldWay.String:
                return field.TagSize + Delimited(Encoding.UTF8.GetByteCount(Unsafe.As<string>(value)));
            case FieldWay.Bytes:
                return field.TagSize + Delimited(Unsafe.As<byte[]>(value).Length);
            case FieldWay.Message:
                return field.TagSize + Delimited(OfFields(Unsafe.As<DynamicMessage>(value), depth + 1));
            case FieldWay.Messages:
                long size = 0;
                foreach (DynamicMessage message in
                    CollectionsMarshal.AsSpan(Unsafe.As<List<DynamicMessage>>(value)))
                {
                    size += field.TagSize + Delimited(OfFields(message, depth + 1));
                }
                return size;
            default:
                return OfOther(field, value, depth);
        }
    }

    private static long OfOther(FieldLayout field, object value, int depth) => value switch
    {
        OrderedDictionary<object, object> map => OfMap(field, map, depth),
        DynamicMessage message when field.IsMessageSetItem => OfItem(field, message, depth),
        List<DynamicMessage> groups => groups.Sum(group => OfMessage(field, group, depth)),
        List<string> texts => ((long)field.TagSize * texts.Count)
            + texts.Sum(text => Delimited(Encoding.UTF8.GetByteCount(text))),
        List<byte[]> values =>
            ((long)field.TagSize * values.Count) + values.Sum(bytes => Delimited(bytes.Length)),
        List<int> numbers => OfNumbers(field, numbers, number => ScalarValue.ToBits(number)),
        List<uint> numbers => OfNumbers(field, numbers, number => number),
        List<long> numbers => OfNumbers(field, numbers, number => (ulong)number),
        List<ulong> numbers => OfNumbers(field, numbers, number => number),
        List<bool> flags => OfNumbers(field, flags, flag => flag ? 1UL : 0),
        List<float> numbers => OfNumbers(field, numbers, ScalarValue.ToBits),
        List<double> numbers => OfNumbers(field, numbers, ScalarValue.ToBits),
        _ => OfValue(field, value, depth),
    };

    private static long OfValue(FieldLayout field, object value, int depth)
    {
        switch (value)
        {
            case DynamicMessage message:
                return OfMessage(field, message, depth);
            case string text:
                return field.TagSize + Delimited(Encoding.UTF8.GetByteCount(text));
            case byte[] bytes:
                return field.TagSize + Delimited(bytes.Length);
            default:
                ScalarValue.TryUnbox(field.Kind, value, out ulong bits);
                return field.TagSize + OfScalar(field.Kind, bits);
        }
    }

    private static long OfMessage(FieldLayout field, DynamicMessage message, int depth)
    {
        long size = OfFields(message, depth + 1);
        // The start tag and the end tag of a group have the same length.
        return field.Kind == RpcFieldKind.Group
            ? size + (2 * field.TagSize)
            : field.TagSize + Delimited(size);
    }

    private static long OfMap(FieldLayout field, OrderedDictionary<object, object> map, int depth)
    {
        long size = (long)field.TagSize * map.Count;
        for (int i = 0; i < map.Count; i++)
        {
            (object key, object value) = map.GetAt(i);
            size += Delimited(OfValue(field.Key, key, depth + 1) + OfValue(field.Value, value, depth + 1));
        }
        return size;
    }

    // Four tags of one byte each, the number of the extension, and the message.
    private static long OfItem(FieldLayout field, DynamicMessage message, int depth) =>
        4 + WireWriter.VarintSize((uint)field.Info.Number) + Delimited(OfFields(message, depth + 1));

    private static long OfNumbers<T>(FieldLayout field, List<T> list, Func<T, ulong> toBits)
    {
        long size = 0;
        foreach (T value in CollectionsMarshal.AsSpan(list))
        {
            size += OfScalar(field.Kind, toBits(value));
        }
        return list.Count == 0 ? 0
            : field.IsPacked ? field.TagSize + Delimited(size)
            : size + ((long)field.TagSize * list.Count);
    }

    private static long Delimited(long length) => WireWriter.VarintSize((ulong)length) + length;

    private static int OfScalar(RpcFieldKind kind, ulong bits) => kind switch
    {
        RpcFieldKind.SInt32 => WireWriter.VarintSize(ScalarValue.ToZigZag32((int)bits)),
        RpcFieldKind.SInt64 => WireWriter.VarintSize(ScalarValue.ToZigZag64((long)bits)),
        RpcFieldKind.Fixed32 or RpcFieldKind.SFixed32 or RpcFieldKind.Float => sizeof(uint),
        RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 or RpcFieldKind.Double => sizeof(ulong),
        _ => WireWriter.VarintSize(bits),
    };
}

/// <summary>An item of a MessageSet in binary form: group 1, with the extension's number as field 2 and its
/// message as field 3.</summary>
/// <param name="TypeId">The number of the extension.</param>
/// <param name="MessageStart">The position of the length of the message.</param>
internal readonly record struct MessageSetItem(int TypeId, int MessageStart)
{
    public const uint StartTag = (1 << WireType.TagBits) | WireType.StartGroup;
    public const uint EndTag = (1 << WireType.TagBits) | WireType.EndGroup;
    public const uint TypeIdTag = (2 << WireType.TagBits) | WireType.Varint;
    public const uint MessageTag = (3 << WireType.TagBits) | WireType.LengthDelimited;

    /// <summary>Reads an item whose first tag was read.</summary>
    /// <returns>Null if the type id or the message is missing. Other implementations also skip such an
    /// item.</returns>
    /// <remarks>The first type id and the first message count, in either order.</remarks>
    public static MessageSetItem? Read(ref WireReader reader)
    {
        int typeId = 0;
        int messageStart = -1;
        reader.EnterGroup();
        while (!reader.AtEnd)
        {
            int start = reader.Position;
            uint tag = reader.ReadTag();
            switch (tag)
            {
                case EndTag:
                    reader.LeaveGroup();
                    return typeId == 0 || messageStart < 0 ? null : new(typeId, messageStart);
                case TypeIdTag:
                    int given = (int)reader.ReadVarint();
                    if (given == 0)
                    {
                        throw reader.Malformed("an item of a MessageSet has the type id 0", start);
                    }
                    typeId = typeId == 0 ? given : typeId;
                    break;
                case MessageTag:
                    messageStart = messageStart < 0 ? reader.Position : messageStart;
                    reader.ReadBytes();
                    break;
                default:
                    reader.Skip(tag);
                    break;
            }
        }
        throw reader.Truncated("an item of a MessageSet", reader.Position);
    }
}
