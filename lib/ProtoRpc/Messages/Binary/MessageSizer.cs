using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace ProtoRpc.Messages.Binary;

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
        // A slot never holds another type than its field's.
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

    private static long OfOther(FieldLayout field, object value, int depth)
    {
        switch (value)
        {
            case OrderedDictionary<object, object> map:
                return OfMap(field, map, depth);
            case DynamicMessage message when field.IsMessageSetItem:
                return OfItem(field, message, depth);
            case List<DynamicMessage> groups:
                return groups.Sum(group => OfMessage(field, group, depth));
            case List<string> texts:
                return ((long)field.TagSize * texts.Count)
                    + texts.Sum(text => Delimited(Encoding.UTF8.GetByteCount(text)));
            case List<byte[]> values:
                return ((long)field.TagSize * values.Count) + values.Sum(bytes => Delimited(bytes.Length));
            case List<int> numbers:
                return OfNumbers(field, numbers, number => ScalarValue.Of(number));
            case List<uint> numbers:
                return OfNumbers(field, numbers, number => number);
            case List<long> numbers:
                return OfNumbers(field, numbers, number => (ulong)number);
            case List<ulong> numbers:
                return OfNumbers(field, numbers, number => number);
            case List<bool> flags:
                return OfNumbers(field, flags, flag => flag ? 1UL : 0);
            case List<float> numbers:
                return OfNumbers(field, numbers, ScalarValue.Of);
            case List<double> numbers:
                return OfNumbers(field, numbers, ScalarValue.Of);
            default:
                return OfValue(field, value, depth);
        }
    }

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
        // The tags that begin and end a group are of the same length.
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

    // Four tags of one byte each, the number of the type, and the message.
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

    private static int OfScalar(RpcFieldKind kind, ulong bits)
    {
        switch (kind)
        {
            case RpcFieldKind.SInt32:
                return WireWriter.VarintSize(ScalarValue.ToZigZag32((int)bits));
            case RpcFieldKind.SInt64:
                return WireWriter.VarintSize(ScalarValue.ToZigZag64((long)bits));
            case RpcFieldKind.Fixed32 or RpcFieldKind.SFixed32 or RpcFieldKind.Float:
                return sizeof(uint);
            case RpcFieldKind.Fixed64 or RpcFieldKind.SFixed64 or RpcFieldKind.Double:
                return sizeof(ulong);
            default:
                return WireWriter.VarintSize(bits);
        }
    }
}
