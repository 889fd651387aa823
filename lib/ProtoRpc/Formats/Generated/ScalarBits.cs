using System.Runtime.CompilerServices;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Generated;

/// <summary>Scalars of generated classes as the 64 bits that <see cref="ScalarValue"/> keeps.</summary>
internal static class ScalarBits
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong Of<T>(T value)
        where T : unmanaged
    {
        if (Unsafe.SizeOf<T>() == sizeof(ulong))
        {
            return Unsafe.BitCast<T, ulong>(value);
        }
        if (typeof(T) == typeof(bool))
        {
            return Unsafe.BitCast<T, bool>(value) ? 1UL : 0;
        }
        return typeof(T) == typeof(uint) || typeof(T) == typeof(float)
            ? Unsafe.BitCast<T, uint>(value)
            : ScalarValue.Of(Unsafe.BitCast<T, int>(value));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static T To<T>(ulong bits)
        where T : unmanaged
    {
        if (Unsafe.SizeOf<T>() == sizeof(ulong))
        {
            return Unsafe.BitCast<ulong, T>(bits);
        }
        return typeof(T) == typeof(bool)
            ? Unsafe.BitCast<bool, T>(bits != 0)
            : Unsafe.BitCast<int, T>((int)bits);
    }

    /// <summary>Whether a field without presence is left out: generated classes do so with minus zero as
    /// well.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool IsZero<T>(T value)
        where T : unmanaged
    {
        if (typeof(T) == typeof(double))
        {
            return Unsafe.BitCast<T, double>(value) == 0;
        }
        return typeof(T) == typeof(float)
            ? Unsafe.BitCast<T, float>(value) == 0
            : Of(value) == 0;
    }
}
