using System.Text;

namespace ProtoRpc.Tests.Messages;

/// <summary>Makes messages with random fields: all that a type can hold, edges of ranges more often than
/// not.</summary>
internal sealed class RandomMessages(int seed)
{
    private const int MaxDepth = 4;
    private const string Alphabet = "aZ09 \"\\\n\t'é漢\u0001";

    private static readonly double PositiveNaN = BitConverter.UInt64BitsToDouble(0x7FF8_0000_0000_0000);
    private static readonly float PositiveNaN32 = BitConverter.UInt32BitsToSingle(0x7FC0_0000);

    private readonly Random _random = new(seed);

    /// <param name="type">The type of the message.</param>
    /// <param name="depth">How deep it already is; deeper messages have fewer children.</param>
    public DynamicMessage Make(RpcMessageInfo type, int depth = 0)
    {
        DynamicMessage message = new(type);
        foreach (RpcFieldInfo field in type.Fields.Concat(type.Extensions))
        {
            bool isMessage = field.Kind is RpcFieldKind.Message or RpcFieldKind.Group;
            bool wanted = _random.Next(isMessage ? 3 + depth : 2) == 0 && (!isMessage || depth < MaxDepth);
            if (wanted || field.IsRequired)
            {
                Fill(message, field, depth);
            }
        }
        return message;
    }

    private void Fill(DynamicMessage message, RpcFieldInfo field, int depth)
    {
        if (field.IsMap)
        {
            // In the order that protoc's deterministic output has, so that bytes can be compared.
            RpcFieldInfo key = field.MessageType!.Fields[0];
            RpcFieldInfo value = field.MessageType.Fields[1];
            Dictionary<object, object> map = [];
            foreach (object each in Many(() => Scalar(key)).Distinct().Order(KeyOrder.Instance))
            {
                map[each] = One(value, depth + 1);
            }
            message.Set(field, map);
        }
        else if (field.IsRepeated)
        {
            object[] items = Many(() => One(field, depth));
            Array typed = Array.CreateInstance(
                items.Length == 0 ? typeof(object) : items[0].GetType(), items.Length);
            if (items.Length > 0)
            {
                items.CopyTo(typed, 0);
                message.Set(field, typed);
            }
        }
        else
        {
            message.Set(field, One(field, depth));
        }
    }

    private object[] Many(Func<object> make) =>
        Enumerable.Range(0, _random.Next(5)).Select(_ => make()).ToArray();

    private object One(RpcFieldInfo field, int depth) =>
        field.Kind is RpcFieldKind.Message or RpcFieldKind.Group
            ? Make(field.MessageType!, depth + 1)
            : Scalar(field);

    private object Scalar(RpcFieldInfo field) => field.Kind switch
    {
        RpcFieldKind.Double => Pick<double>(
            0, -0.0, 1.5, -1e300, double.Epsilon, PositiveNaN, double.PositiveInfinity,
            double.NegativeInfinity, _random.NextDouble()),
        RpcFieldKind.Float => Pick<float>(
            0, -0.0f, 1.5f, float.MaxValue, float.Epsilon, PositiveNaN32, float.PositiveInfinity,
            float.NegativeInfinity, _random.NextSingle()),
        RpcFieldKind.Int64 or RpcFieldKind.SFixed64 or RpcFieldKind.SInt64 =>
            Pick<long>(0, 1, -1, long.MinValue, long.MaxValue, int.MinValue, _random.NextInt64()),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 =>
            Pick<ulong>(0, 1, 127, 128, ulong.MaxValue, uint.MaxValue, (ulong)_random.NextInt64()),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 =>
            Pick<uint>(0, 1, 128, uint.MaxValue, (uint)_random.Next()),
        RpcFieldKind.Bool => _random.Next(2) == 0,
        RpcFieldKind.String => Text(),
        RpcFieldKind.Bytes => Bytes(),
        RpcFieldKind.Enum => field.EnumType!.IsClosed || _random.Next(4) > 0
            ? field.EnumType.Values[_random.Next(field.EnumType.Values.Count)].Value
            : _random.Next(1000, 2000),
        _ => Pick(0, 1, -1, 300, int.MinValue, int.MaxValue, _random.Next()),
    };

    private T Pick<T>(params T[] values) => values[_random.Next(values.Length)];

    private byte[] Bytes()
    {
        byte[] bytes = new byte[Pick(0, 1, 3, 200)];
        _random.NextBytes(bytes);
        return bytes;
    }

    private string Text()
    {
        StringBuilder text = new();
        for (int i = Pick(0, 1, 5, 150); i > 0; i--)
        {
            text.Append(_random.Next(20) == 0 ? "😀" : Alphabet[_random.Next(Alphabet.Length)].ToString());
        }
        return text.ToString();
    }

    /// <summary>Numbers by value, text by its bytes.</summary>
    private sealed class KeyOrder : IComparer<object>
    {
        public static KeyOrder Instance { get; } = new();

        public int Compare(object? left, object? right) => left is string text
            ? Encoding.UTF8.GetBytes(text).AsSpan().SequenceCompareTo(Encoding.UTF8.GetBytes((string)right!))
            : Comparer<object>.Default.Compare(left, right);
    }
}
