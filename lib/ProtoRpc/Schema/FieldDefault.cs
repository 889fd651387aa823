using System.Globalization;
using System.Text;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>The default values of fields, which descriptors keep as text.</summary>
internal static class FieldDefault
{
    /// <summary>The value of a singular field that is not a message when it is absent.</summary>
    public static object Of(RpcFieldKind kind, FieldDescriptorProto field, EnumDescriptor? enumType) =>
        field.HasDefaultValue ? Parse(kind, field.DefaultValue, enumType) : Zero(kind, enumType);

    /// <summary>Whether the default that a descriptor has as text is a value of the type.</summary>
    public static bool IsValid(RpcFieldKind kind, FieldDescriptorProto field, EnumDescriptor? enumType)
    {
        try
        {
            _ = Of(kind, field, enumType);
            return true;
        }
        catch (Exception e) when (e is FormatException or OverflowException)
        {
            return false;
        }
    }

    private static object Zero(RpcFieldKind kind, EnumDescriptor? enumType) => kind switch
    {
        RpcFieldKind.Double => 0d,
        RpcFieldKind.Float => 0f,
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => 0L,
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => 0UL,
        RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 => 0,
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => 0U,
        RpcFieldKind.Bool => false,
        RpcFieldKind.String => "",
        RpcFieldKind.Bytes => Array.Empty<byte>(),
        RpcFieldKind.Enum => enumType!.Values[0].Number,
        _ => throw new ArgumentOutOfRangeException(nameof(kind), kind, "Messages have no default."),
    };

    private static object Parse(RpcFieldKind kind, string text, EnumDescriptor? enumType)
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        return kind switch
        {
            RpcFieldKind.Double => ParseDouble(text),
            RpcFieldKind.Float => (float)ParseDouble(text),
            RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => long.Parse(text, culture),
            RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => ulong.Parse(text, culture),
            RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 => int.Parse(text, culture),
            RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => uint.Parse(text, culture),
            RpcFieldKind.Bool => text switch
            {
                "true" => true,
                "false" => false,
                _ => throw new FormatException(),
            },
            RpcFieldKind.String => text,
            RpcFieldKind.Bytes => Unescape(text),
            RpcFieldKind.Enum => enumType!.FindValueByName(text)?.Number
                ?? throw new FormatException(),
            _ => throw new FormatException(),
        };
    }

    private static double ParseDouble(string text) => text switch
    {
        "inf" => double.PositiveInfinity,
        "-inf" => double.NegativeInfinity,
        "nan" or "-nan" => double.NaN,
        _ => double.Parse(text, NumberStyles.Float, CultureInfo.InvariantCulture),
    };

    /// <summary>Reads C escapes, as protoc writes the defaults of bytes fields.</summary>
    /// <exception cref="FormatException">There is no such escape.</exception>
    public static byte[] Unescape(string text)
    {
        using MemoryStream bytes = new();
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] != '\\')
            {
                int length = char.IsHighSurrogate(text[i]) && i + 1 < text.Length ? 2 : 1;
                bytes.Write(Encoding.UTF8.GetBytes(text.Substring(i, length)));
                i += length - 1;
                continue;
            }

            if (++i == text.Length)
            {
                throw new FormatException();
            }

            bytes.WriteByte(ReadEscape(text, ref i));
        }

        return bytes.ToArray();
    }

    private static byte ReadEscape(string text, ref int i)
    {
        switch (text[i])
        {
            case 'n': return (byte)'\n';
            case 'r': return (byte)'\r';
            case 't': return (byte)'\t';
            case 'a': return 7;
            case 'b': return 8;
            case 'f': return 12;
            case 'v': return 11;
            case '\\' or '\'' or '"' or '?': return (byte)text[i];
            case 'x' or 'X': return ReadDigits(text, ref i, i + 1, 2, 16);
            case >= '0' and <= '7': return ReadDigits(text, ref i, i, 3, 8);
            default: throw new FormatException();
        }
    }

    private static byte ReadDigits(string text, ref int i, int start, int most, int radix)
    {
        int value = 0;
        int end = start;
        while (end < text.Length && end < start + most && DigitOf(text[end]) < radix)
        {
            value = (value * radix) + DigitOf(text[end]);
            end++;
        }

        i = end - 1;
        return end == start ? throw new FormatException() : checked((byte)value);
    }

    private static int DigitOf(char c) =>
        char.IsAsciiHexDigit(c) ? Convert.ToInt32(c.ToString(), 16) : int.MaxValue;
}
