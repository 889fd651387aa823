using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Compares the defaults of fields, also of fields whose type has changed.</summary>
internal static class DefaultValues
{
    /// <summary>Whether two defaults are the same number, or the same text or bytes.</summary>
    public static bool AreSame(object older, object newer)
    {
        byte[]? text = AsBytes(older);
        byte[]? other = AsBytes(newer);
        if (text is not null && other is not null)
        {
            return text.AsSpan().SequenceEqual(other);
        }

        if (text is not null || other is not null)
        {
            // A missing default is the same as zero. A change of the type is reported separately.
            return text is null or [] && other is null or [] && IsZero(older) && IsZero(newer);
        }

        return (AsWhole(older), AsWhole(newer)) switch
        {
            ({ } a, { } b) => a == b,
            (null, null) => AreSameFloats(older, newer),
            ({ } a, null) => IsSame(a, AsDouble(newer)),
            (null, { } b) => IsSame(b, AsDouble(older)),
        };
    }

    /// <summary>The default of a field, for the message of a change.</summary>
    public static string Describe(RpcFieldInfo field) => field.DefaultText is { } text
        ? field.Kind is RpcFieldKind.String or RpcFieldKind.Bytes ? $"\"{Shown(text)}\"" : Shown(text)
        : field.DefaultValue switch
        {
            bool value => value ? "true" : "false",
            int value when field.EnumType is { } type => Shown(type.FindName(value) ?? $"{value}"),
            string or byte[] => "\"\"",
            { } value => Convert.ToString(value, CultureInfo.InvariantCulture)!,
            null => "none",
        };

    private static bool AreSameFloats(object older, object newer)
    {
        // A float is the number of the .proto rounded to single precision, so a double is rounded in the same
        // way.
        if (older is float != newer is float)
        {
            return ((float)AsDouble(older)).Equals((float)AsDouble(newer));
        }

        // Equals, because == is false for two NaN.
        return AsDouble(older).Equals(AsDouble(newer));
    }

    private static bool IsSame(Int128 whole, double number) =>
        double.IsInteger(number) && Math.Abs(number) < 1e30 && (Int128)number == whole;

    private static bool IsZero(object value) => value switch
    {
        string text => text.Length == 0,
        byte[] bytes => bytes.Length == 0,
        _ => AsWhole(value) is { } whole ? whole == 0 : AsDouble(value) == 0,
    };

    private static byte[]? AsBytes(object value) => value switch
    {
        string text => Encoding.UTF8.GetBytes(text),
        byte[] bytes => bytes,
        _ => null,
    };

    private static Int128? AsWhole(object value) => value switch
    {
        bool flag => flag ? 1 : 0,
        int number => number,
        uint number => number,
        long number => number,
        ulong number => number,
        _ => null,
    };

    private static double AsDouble(object value) => value is float number ? number : (double)value;
}
