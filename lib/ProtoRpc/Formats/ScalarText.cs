using System.Globalization;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats;

/// <summary>Scalars as text, the same in every culture.</summary>
internal static class ScalarText
{
    /// <summary>A map's key: text as it is, numbers, <c>true</c> and <c>false</c>.</summary>
    public static string OfKey(object key) => key switch
    {
        string text => text,
        bool flag => flag ? "true" : "false",
        _ => Convert.ToString(key, CultureInfo.InvariantCulture)!,
    };

    /// <summary>A scalar: enums by name where they have one, floating point as short as can be.</summary>
    public static string Of(FieldLayout field, ulong bits) => field.Kind switch
    {
        RpcFieldKind.Bool => bits != 0 ? "true" : "false",
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 =>
            ((long)bits).ToString(CultureInfo.InvariantCulture),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => bits.ToString(CultureInfo.InvariantCulture),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => ((uint)bits).ToString(CultureInfo.InvariantCulture),
        RpcFieldKind.Double => ScalarValue.ToDouble(bits).ToString("R", CultureInfo.InvariantCulture),
        RpcFieldKind.Float => ScalarValue.ToSingle(bits).ToString("R", CultureInfo.InvariantCulture),
        RpcFieldKind.Enum => field.Enum!.FindName((int)bits) ?? OfNumber((int)bits),
        _ => OfNumber((int)bits),
    };

    private static string OfNumber(int number) => number.ToString(CultureInfo.InvariantCulture);
}
