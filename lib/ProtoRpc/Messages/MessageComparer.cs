using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

/// <summary>Compares messages by their values: floating point numbers by their bits, maps in any
/// order.</summary>
internal static class MessageComparer
{
    public static bool AreEqual(DynamicMessage left, DynamicMessage? right)
    {
        if (ReferenceEquals(left, right))
        {
            return true;
        }
        if (right is null || left.Layout != right.Layout ||
            !left.Scalars.SequenceEqual(right.Scalars) ||
            !left.UnknownFieldBytes.SequenceEqual(right.UnknownFieldBytes))
        {
            return false;
        }
        RuntimeHelpers.EnsureSufficientExecutionStack();
        foreach (FieldLayout field in left.Layout.Fields)
        {
            if (!field.IsReference)
            {
                continue;
            }
            bool isSet = left.Has(field);
            if (isSet != right.Has(field) ||
                (isSet && !AreEqual(left.References[field.Slot]!, right.References[field.Slot]!)))
            {
                return false;
            }
        }
        return true;
    }

    public static int HashOf(DynamicMessage message)
    {
        RuntimeHelpers.EnsureSufficientExecutionStack();
        HashCode hash = default;
        hash.Add(RuntimeHelpers.GetHashCode(message.Layout));
        message.Scalars.AddTo(ref hash);
        foreach (FieldLayout field in message.Layout.Fields)
        {
            if (field.IsReference && message.Has(field))
            {
                hash.Add(field.Index);
                hash.Add(HashOf(message.References[field.Slot]!));
            }
        }
        hash.AddBytes(message.UnknownFieldBytes);
        return hash.ToHashCode();
    }

    private static bool AreEqual(object left, object right)
    {
        switch (left)
        {
            case string text:
                return text == (string)right;
            case byte[] bytes:
                return bytes.AsSpan().SequenceEqual((byte[])right);
            case List<float> numbers:
                return numbers.Select(BitConverter.SingleToInt32Bits)
                    .SequenceEqual(((List<float>)right).Select(BitConverter.SingleToInt32Bits));
            case List<double> numbers:
                return numbers.Select(BitConverter.DoubleToInt64Bits)
                    .SequenceEqual(((List<double>)right).Select(BitConverter.DoubleToInt64Bits));
            // Before the case for lists, because an OrderedDictionary is also a list.
            case OrderedDictionary<object, object> map:
                OrderedDictionary<object, object> otherMap = (OrderedDictionary<object, object>)right;
                return map.Count == otherMap.Count && map.All(entry =>
                    otherMap.TryGetValue(entry.Key, out object? value) && AreEqual(entry.Value, value));
            case System.Collections.IList list:
                System.Collections.IList other = (System.Collections.IList)right;
                if (list.Count != other.Count)
                {
                    return false;
                }
                for (int i = 0; i < list.Count; i++)
                {
                    if (!AreEqual(list[i]!, other[i]!))
                    {
                        return false;
                    }
                }
                return true;
            case float number:
                return BitConverter.SingleToInt32Bits(number) == BitConverter.SingleToInt32Bits((float)right);
            case double number:
                long bits = BitConverter.DoubleToInt64Bits(number);
                return bits == BitConverter.DoubleToInt64Bits((double)right);
            default:
                return left.Equals(right);
        }
    }

    private static int HashOf(object value)
    {
        HashCode hash = default;
        switch (value)
        {
            case byte[] bytes:
                hash.AddBytes(bytes);
                break;
            case OrderedDictionary<object, object> map:
                int sum = 0;
                foreach ((object key, object item) in map)
                {
                    sum += HashCode.Combine(MapKeys.HashOf(key), HashOf(item));
                }
                hash.Add(sum);
                break;
            case System.Collections.IList list:
                foreach (object item in list)
                {
                    hash.Add(HashOf(item));
                }
                break;
            case float number:
                hash.Add(BitConverter.SingleToInt32Bits(number));
                break;
            case double number:
                hash.Add(BitConverter.DoubleToInt64Bits(number));
                break;
            default:
                return MapKeys.HashOf(value);
        }
        return hash.ToHashCode();
    }
}
