using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

/// <summary>Scalars as 64 bits: integers and enums with their sign extended, floating point as its
/// bits.</summary>
internal static class ScalarValue
{
    /// <summary>The NaN that other implementations write: .NET's own has its sign set.</summary>
    public static readonly double NaN = BitConverter.UInt64BitsToDouble(0x7FF8_0000_0000_0000);

    public static ulong Of(int value) => (ulong)value;

    public static ulong Of(float value) => BitConverter.SingleToUInt32Bits(value);

    public static ulong Of(double value) => BitConverter.DoubleToUInt64Bits(value);

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
    public static ulong Of<T>(T value)
        where T : struct =>
        // The compiler of the runtime keeps one of the branches for each T, and the box of none.
        typeof(T) == typeof(int) ? Of((int)(object)value)
            : typeof(T) == typeof(uint) ? (uint)(object)value
            : typeof(T) == typeof(long) ? (ulong)(long)(object)value
            : typeof(T) == typeof(ulong) ? (ulong)(object)value
            : typeof(T) == typeof(float) ? Of((float)(object)value)
            : typeof(T) == typeof(double) ? Of((double)(object)value)
            : typeof(T) == typeof(bool) && (bool)(object)value ? 1UL
            : 0;

    /// <summary>The bits of a value of exactly the kind's type.</summary>
    public static bool TryUnbox(RpcFieldKind kind, object? value, out ulong bits)
    {
        bits = value switch
        {
            int number => Of(number),
            uint number => number,
            long number => (ulong)number,
            ulong number => number,
            float number => Of(number),
            double number => Of(number),
            true => 1,
            _ => 0,
        };
        return value?.GetType() == TypeOf(kind);
    }
}
