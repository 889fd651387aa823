using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages;

/// <summary>Scalars as 64 bits: integers and enums with their sign extended, floating point as its
/// bits.</summary>
internal static class ScalarValue
{
    /// <summary>The NaN that other implementations write: .NET's own has its sign set.</summary>
    public static readonly double NaN = BitConverter.UInt64BitsToDouble(0x7FF8_0000_0000_0000);

    public static ulong ToBits(int value) => (ulong)value;

    public static ulong ToBits(float value) => BitConverter.SingleToUInt32Bits(value);

    public static ulong ToBits(double value) => BitConverter.DoubleToUInt64Bits(value);

    public static float ToSingle(ulong bits) => BitConverter.UInt32BitsToSingle((uint)bits);

    public static double ToDouble(ulong bits) => BitConverter.UInt64BitsToDouble(bits);

    public static int FromZigZag32(uint value) => (int)(value >> 1) ^ -(int)(value & 1);

    public static long FromZigZag64(ulong value) => (long)(value >> 1) ^ -(long)(value & 1);

    public static uint ToZigZag32(int value) => (uint)((value << 1) ^ (value >> 31));

    public static ulong ToZigZag64(long value) => (ulong)((value << 1) ^ (value >> 63));

    /// <summary>The .NET type of a field's value or of one element.</summary>
    public static Type TypeOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Double => typeof(double),
        RpcFieldKind.Float => typeof(float),
        RpcFieldKind.Int64 or RpcFieldKind.SFixed64 or RpcFieldKind.SInt64 => typeof(long),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => typeof(ulong),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => typeof(uint),
        RpcFieldKind.Bool => typeof(bool),
        RpcFieldKind.String => typeof(string),
        RpcFieldKind.Bytes => typeof(byte[]),
        RpcFieldKind.Group or RpcFieldKind.Message => typeof(DynamicMessage),
        _ => typeof(int),
    };

    public static object Box(RpcFieldKind kind, ulong bits) => kind switch
    {
        RpcFieldKind.Double => ToDouble(bits),
        RpcFieldKind.Float => ToSingle(bits),
        RpcFieldKind.Int64 or RpcFieldKind.SFixed64 or RpcFieldKind.SInt64 => (long)bits,
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => bits,
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (uint)bits,
        RpcFieldKind.Bool => bits != 0,
        _ => (int)bits,
    };

    /// <summary>The bits of a number or bool, which is not boxed; 0 for other types.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong ToBits<T>(T value)
        where T : struct =>
        // For each T, the JIT compiler keeps one of the branches, without boxing.
        typeof(T) == typeof(int) ? ToBits((int)(object)value)
            : typeof(T) == typeof(uint) ? (uint)(object)value
            : typeof(T) == typeof(long) ? (ulong)(long)(object)value
            : typeof(T) == typeof(ulong) ? (ulong)(object)value
            : typeof(T) == typeof(float) ? ToBits((float)(object)value)
            : typeof(T) == typeof(double) ? ToBits((double)(object)value)
            : typeof(T) == typeof(bool) && (bool)(object)value ? 1UL
            : 0;

    /// <summary>The bits of a value of exactly the kind's type.</summary>
    public static bool TryUnbox(RpcFieldKind kind, object? value, out ulong bits)
    {
        bits = value switch
        {
            int number => ToBits(number),
            uint number => number,
            long number => (ulong)number,
            ulong number => number,
            float number => ToBits(number),
            double number => ToBits(number),
            true => 1,
            _ => 0,
        };
        return value?.GetType() == TypeOf(kind);
    }
}

/// <summary>Adds to the typed lists of repeated scalars.</summary>
internal static class ScalarLists
{
    /// <summary>Adds a scalar, given as <see cref="ScalarValue"/> keeps it.</summary>
    public static void Add(DynamicMessage message, FieldLayout field, ulong bits)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64:
                message.ListOf<long>(field).Add((long)bits);
                break;
            case RpcFieldKind.UInt64 or RpcFieldKind.Fixed64:
                message.ListOf<ulong>(field).Add(bits);
                break;
            case RpcFieldKind.UInt32 or RpcFieldKind.Fixed32:
                message.ListOf<uint>(field).Add((uint)bits);
                break;
            case RpcFieldKind.Bool:
                message.ListOf<bool>(field).Add(bits != 0);
                break;
            case RpcFieldKind.Float:
                message.ListOf<float>(field).Add(ScalarValue.ToSingle(bits));
                break;
            case RpcFieldKind.Double:
                message.ListOf<double>(field).Add(ScalarValue.ToDouble(bits));
                break;
            default:
                message.ListOf<int>(field).Add((int)bits);
                break;
        }
    }
}

/// <summary>Hashes keys of maps in a way that peers cannot foresee.</summary>
/// <remarks>.NET hashes a string with a secret of the process, but a number as itself. A peer can choose
/// numbers that are in one bucket, so that each look-up compares all of them. So numbers are hashed like
/// strings here.</remarks>
internal static class MapKeys
{
    /// <summary>Compares keys that are boxed, as in the maps of messages and in dictionaries of
    /// scripts.</summary>
    public static EqualityComparer<object> Boxed { get; } = new Comparer<object>();

    /// <summary>Makes the map of a message.</summary>
    /// <param name="capacity">The expected number of entries.</param>
    public static OrderedDictionary<object, object> NewMap(int capacity = 0) => new(capacity, Boxed);

    /// <summary>Compares keys of one type; null if .NET's own comparer has a secret.</summary>
    public static IEqualityComparer<TKey>? GetComparer<TKey>()
        where TKey : notnull => typeof(TKey) == typeof(string) ? null : Typed<TKey>.Instance;

    /// <summary>The hash of a key, or of any value of a field.</summary>
    public static int HashOf(object value) => value switch
    {
        long number => HashOf((ulong)number),
        int number => HashOf((ulong)number),
        ulong number => HashOf(number),
        uint number => HashOf((ulong)number),
        _ => value.GetHashCode(),
    };

    private static int HashOf(ulong number) =>
        string.GetHashCode(MemoryMarshal.Cast<ulong, char>(new ReadOnlySpan<ulong>(in number)));

    private static class Typed<TKey>
        where TKey : notnull
    {
        public static readonly Comparer<TKey> Instance = new();
    }

    private sealed class Comparer<TKey> : EqualityComparer<TKey>
        where TKey : notnull
    {
        public override bool Equals(TKey? x, TKey? y) => Default.Equals(x, y);

        public override int GetHashCode(TKey key) =>
            typeof(TKey) == typeof(long) ? HashOf((ulong)(long)(object)key)
            : typeof(TKey) == typeof(int) ? HashOf((ulong)(int)(object)key)
            : typeof(TKey) == typeof(ulong) ? HashOf((ulong)(object)key)
            : typeof(TKey) == typeof(uint) ? HashOf((ulong)(uint)(object)key)
            : MapKeys.HashOf(key);
    }
}
