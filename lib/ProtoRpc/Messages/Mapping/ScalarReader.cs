using System.Collections;
using System.Net;
using System.Numerics;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Converts values of any type to scalars.</summary>
/// <remarks>Each method returns the problem of the value and the accepted forms, or null.</remarks>
internal static class ScalarReader
{
    public static string? ReadScalar(FieldLayout field, object value, out ulong bits) => field.Kind switch
    {
        RpcFieldKind.Bool => ReadBool(value, out bits),
        RpcFieldKind.Double => ReadDouble(value, out bits),
        RpcFieldKind.Float => ReadSingle(value, out bits),
        RpcFieldKind.Enum => ReadEnum(field, value, out bits),
        _ => ReadInteger(field.Kind, field.Info.TypeName, value, out bits),
    };

    /// <summary>Whether a value is one scalar. A class that formats itself is not:
    /// so does a shell's object.</summary>
    public static bool IsScalar(object value) =>
        value is string or StringBuilder or Uri or Version or IPAddress
            or (ValueType and (IFormattable or IConvertible));

    public static string? ReadText(object value, out string text)
    {
        string? read = value switch
        {
            string given => given,
            char character => character.ToString(),
            char[] characters => new string(characters),
            StringBuilder builder => builder.ToString(),
            DateTime or DateTimeOffset or DateOnly or TimeOnly =>
                ((IFormattable)value).ToString("o", CultureInfo.InvariantCulture),
            Uri uri => uri.OriginalString,
            Version version => version.ToString(),
            IPAddress address => address.ToString(),
            ValueType and IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
            _ => null,
        };
        text = read ?? "";
        if (read is null)
        {
            return value is bool
                ? "is not text; write 'true' or 'false' in quotes, as the service expects it."
                : "is not text; give a string.";
        }
        return HasLoneSurrogate(text)
            ? "has half of a surrogate pair, which no text in UTF-8 can have."
            : null;
    }

    private static string? ReadBool(object value, out ulong bits)
    {
        bool? flag = value switch
        {
            bool given => given,
            // .NET ignores zeros (U+0000) at the end.
            string text when bool.TryParse(text, out bool parsed) && !text.Contains('\0') => parsed,
            _ when TryGetInteger(value, out Int128 number) && number >= 0 && number <= 1 => number == 1,
            _ => null,
        };
        bits = flag == true ? 1UL : 0;
        return flag is null ? "is not a bool; give true or false." : null;
    }

    private static string? ReadEnum(FieldLayout field, object value, out ulong bits)
    {
        bits = 0;
        RpcEnumInfo type = field.Enum!;
        string? name = value is string or Enum or NamedNumber ? value.ToString()!.Trim() : null;
        if (name is not null && type.TryGetNumber(name, out int number))
        {
            bits = ScalarValue.ToBits(number);
            return null;
        }
        if (!TryGetInteger(value, out Int128 wide) || wide < int.MinValue || wide > int.MaxValue)
        {
            return ValueText.NotInEnum(type, name ?? "");
        }
        bits = ScalarValue.ToBits((int)wide);
        return field.ClosedNumbers is { } known && !known.Contains((int)wide)
            ? $"is not a number of the enum {type.FullName}, which is closed; " +
                ValueText.OfNames(
                    type.Values.Select(v => $"{v.Key} = {v.Value}"), "it has", "it has none") + "."
            : null;
    }

    private static string? ReadDouble(object value, out ulong bits)
    {
        bits = 0;
        if (!TryGetDouble(value, out double number))
        {
            return "is not a number; give a number, text of one, 'NaN', 'Infinity' or '-Infinity'.";
        }
        bits = ScalarValue.ToBits(number);
        return null;
    }

    private static string? ReadSingle(object value, out ulong bits)
    {
        bits = 0;
        if (!TryGetDouble(value, out double number))
        {
            return "is not a number; give a number, text of one, 'NaN', 'Infinity' or '-Infinity'.";
        }

        // Text is parsed as float directly: parsing a double first would round twice.
        float single = value is float given ? given
            : value is string text && NumberText.TryRead(text, out float read) && !float.IsNaN(read) ? read
            : (float)number;
        bits = ScalarValue.ToBits(single);
        return float.IsInfinity(single) && !double.IsInfinity(number)
            ? "does not fit into float, which takes numbers from -3.4028235E+38 to 3.4028235E+38."
            : null;
    }

    private static string? ReadInteger(RpcFieldKind kind, string typeName, object value, out ulong bits)
    {
        // Fast path: most values are Int32.
        if (value is int small && (small >= 0 || IsSigned(kind)))
        {
            bits = ScalarValue.ToBits(small);
            return null;
        }
        if (value is long large
            && kind is RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64)
        {
            bits = (ulong)large;
            return null;
        }
        (Int128 min, Int128 max) = RangeOf(kind);
        bits = 0;
        if (!TryGetInteger(value, out Int128 number))
        {
            return string.Create(
                CultureInfo.InvariantCulture,
                $"is not a whole number; {typeName} takes numbers from {min} to {max}.");
        }
        if (number < min || number > max)
        {
            return string.Create(
                CultureInfo.InvariantCulture,
                $"does not fit into {typeName}, which takes numbers from {min} to {max}.");
        }
        bits = unchecked((ulong)number);
        return null;
    }

    private static bool IsSigned(RpcFieldKind kind) => kind is not (RpcFieldKind.UInt32
        or RpcFieldKind.Fixed32 or RpcFieldKind.UInt64 or RpcFieldKind.Fixed64);

    private static (Int128 Min, Int128 Max) RangeOf(RpcFieldKind kind) => kind switch
    {
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 => (long.MinValue, long.MaxValue),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (0, ulong.MaxValue),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (0, uint.MaxValue),
        _ => (int.MinValue, int.MaxValue),
    };

    private static bool TryGetInteger(object value, out Int128 number)
    {
        number = 0;
        switch (value)
        {
            case int n:
                number = n;
                return true;
            case long n:
                number = n;
                return true;
            case byte n:
                number = n;
                return true;
            case Enum n:
                return TryGetInteger(
                    Convert.ChangeType(n, n.GetTypeCode(), CultureInfo.InvariantCulture), out number);
            case NamedNumber n:
                return TryGetInteger(n.Number, out number);
            case double n:
                return TryGetWhole(n, out number);
            case float n:
                return TryGetWhole(n, out number);
            case Half n:
                return TryGetWhole((double)n, out number);
            case decimal n:
                number = decimal.IsInteger(n) ? (Int128)n : 0;
                return decimal.IsInteger(n);
            case uint n:
                number = n;
                return true;
            case ulong n:
                number = n;
                return true;
            case short n:
                number = n;
                return true;
            case ushort n:
                number = n;
                return true;
            case sbyte n:
                number = n;
                return true;
            case nint n:
                number = n;
                return true;
            case nuint n:
                number = n;
                return true;
            case Int128 n:
                number = n;
                return true;
            case UInt128 n:
                number = n <= (UInt128)Int128.MaxValue ? (Int128)n : Int128.MaxValue;
                return true;
            case BigInteger n:
                number = Int128.CreateSaturating(n);
                return true;
            case string text:
                return NumberText.TryReadWhole(text, out number);
            default:
                return false;
        }
    }

    private static bool TryGetWhole(double value, out Int128 number)
    {
        // Outside Int128, the value is the nearest Int128, which no type accepts.
        number = double.IsInteger(value) ? Int128.CreateSaturating(value) : 0;
        return double.IsInteger(value);
    }

    /// <summary>The number that a value is; for a .NET number, text of one, and the three special
    /// values.</summary>
    public static bool TryGetDouble(object value, out double number)
    {
        switch (value)
        {
            case double n:
                number = n;
                return true;
            case float n:
                number = n;
                return true;
            case decimal n:
                number = (double)n;
                return true;
            case Half n:
                number = (double)n;
                return true;
            case BigInteger n:
                number = (double)n;
                return double.IsFinite(number);
            case string text:
                bool isNumber = NumberText.TryRead(text, out number);
                number = double.IsNaN(number) ? ScalarValue.NaN : number;
                return isNumber;
            default:
                bool whole = TryGetInteger(value, out Int128 integer) && value is not (Enum or NamedNumber);
                number = whole ? (double)integer : 0;
                return whole;
        }
    }

    /// <summary>Whether a text has half of a surrogate pair.</summary>
    public static bool HasLoneSurrogate(string text)
    {
        int start = text.AsSpan().IndexOfAnyInRange('\uD800', '\uDFFF');
        for (int i = start; i >= 0 && i < text.Length; i++)
        {
            if (char.IsSurrogate(text[i]))
            {
                if (i + 1 >= text.Length || !char.IsSurrogatePair(text[i], text[i + 1]))
                {
                    return true;
                }
                i++;
            }
        }
        return false;
    }
}

/// <summary>Converts values to bytes: arrays, text with a prefix, streams and lists of numbers.</summary>
internal static class BytesReader
{
    /// <summary>The prefix of a text whose UTF-8 bytes are the value.</summary>
    public const string Utf8Prefix = "utf8:";

    /// <summary>The prefix of base64.</summary>
    public const string Base64Prefix = "base64:";

    private const int MaxShown = 60;
    private const string Remedy =
        $"give a byte array, '{Utf8Prefix}TEXT', '{Base64Prefix}...', a stream, or a list of numbers from 0 "
        + "to 255.";

    /// <summary>Whether a value is one value of bytes, not a list of them.</summary>
    public static bool IsBytes(object value) =>
        value is byte[] or ByteString or ArraySegment<byte> or List<byte>;

    /// <returns>The problem of the value, or null.</returns>
    public static string? Read(object value, IObjectModel objects, out byte[] bytes)
    {
        switch (value)
        {
            case byte[] array:
                bytes = array;
                return null;
            case ReadOnlyMemory<byte> memory:
                bytes = memory.ToArray();
                return null;
            case Memory<byte> memory:
                bytes = memory.ToArray();
                return null;
            case ByteString string8:
                bytes = string8.ToByteArray();
                return null;
            case string text:
                return ReadText(text, out bytes);
            case Stream stream:
                return ReadStream(stream, out bytes);
            case IEnumerable list and not IDictionary:
                return ReadList(list, objects, out bytes);
            default:
                bytes = [];
                return $"is not bytes; {Remedy}";
        }
    }

    /// <summary>Bytes as text that is read back.</summary>
    public static string TextOf(byte[] bytes) => Base64Prefix + Convert.ToBase64String(bytes);

    /// <summary>Reads base64 in both alphabets, with or without padding, as JSON has it.</summary>
    /// <returns>The problem of the text, or null.</returns>
    public static string? ReadBase64(string text, out byte[] bytes)
    {
        string standard = text.Trim().TrimEnd('=').Replace('-', '+').Replace('_', '/');
        bytes = new byte[(standard.Length + 3) / 4 * 3];
        bool valid = Convert.TryFromBase64String(
            standard.PadRight((standard.Length + 3) / 4 * 4, '='), bytes, out int written);
        bytes = valid ? bytes[..written] : [];
        return valid
            ? null
            : "is not base64, which has letters, digits, '+' and '/', and up to two '=' at its end.";
    }

    // Without a prefix, text is not decoded, because much text is also valid base64: 'foo' would be the bytes
    // 7E 8A.
    private static string? ReadText(string text, out byte[] bytes)
    {
        bytes = [];
        if (text.StartsWith(Base64Prefix, StringComparison.Ordinal))
        {
            return ReadBase64(text[Base64Prefix.Length..], out bytes);
        }
        if (text.StartsWith(Utf8Prefix, StringComparison.Ordinal))
        {
            string content = text[Utf8Prefix.Length..];
            if (ScalarReader.HasLoneSurrogate(content))
            {
                return "has half of a surrogate pair, which no text in UTF-8 can have.";
            }
            bytes = Encoding.UTF8.GetBytes(content);
            return null;
        }
        if (text.Length == 0)
        {
            return null;
        }
        string shown = text.Length <= MaxShown && !ScalarReader.HasLoneSurrogate(text) ? text : "text";
        return $"can be text or base64. Give a byte array, '{Utf8Prefix}{shown}', or "
            + $"'{TextOf(Encoding.UTF8.GetBytes(shown))}'.";
    }

    private static string? ReadStream(Stream stream, out byte[] bytes)
    {
        bytes = [];
        try
        {
            using MemoryStream copy = new();
            stream.CopyTo(copy);
            bytes = copy.ToArray();
            return null;
        }
        catch (Exception e) when (e is IOException or NotSupportedException or ObjectDisposedException)
        {
            return $"cannot be read: {e.Message}";
        }
    }

    private static string? ReadList(IEnumerable list, IObjectModel objects, out byte[] bytes)
    {
        bytes = [];
        List<byte> read = [];
        foreach (object? wrapped in list)
        {
            object? item = objects.Unwrap(wrapped);
            if (item is null || !ScalarReader.TryGetDouble(item, out double number) ||
                number is < byte.MinValue or > byte.MaxValue || !double.IsInteger(number))
            {
                return string.Create(
                    CultureInfo.InvariantCulture,
                    $"is not bytes, for its element [{read.Count}] is {ValueText.Format(item)}; {Remedy}");
            }
            read.Add((byte)number);
        }
        bytes = [.. read];
        return null;
    }
}

/// <summary>A value of an enum whose .NET type is not at hand, because it was serialized by a shell: read as
/// the enum itself.</summary>
/// <param name="Name">The name, or the number as text.</param>
/// <param name="Number">The boxed integer.</param>
internal readonly record struct NamedNumber(string Name, object Number) : IFormattable
{
    public string ToString(string? format, IFormatProvider? formatProvider) => Name;

    public override string ToString() => Name;
}
