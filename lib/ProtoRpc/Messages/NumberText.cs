using System.Collections;
using System.Numerics;

namespace ProtoRpc.Messages;

/// <summary>Parses numbers exactly: a number with a fraction is never rounded to a whole number.</summary>
internal static class NumberText
{
    private const long MaxExponent = 1L << 40;
    private const int ShortLength = 64;
    private const string Infinity = "Infinity";

    // .NET ignores zeros (U+0000) at the end of a number, in every style.
    private const char Zero = '\0';

    private static readonly SearchValues<char> NumberCharacters = SearchValues.Create("0123456789+-.eE");

    /// <summary>The whole number that a text is: <c>12</c>, <c>+1e3</c>, <c>5.0</c>; spaces around it are
    /// passed over. One that is too large for every type stays too large.</summary>
    public static bool TryReadWhole(string text, out Int128 value)
    {
        ReadOnlySpan<char> number = text.AsSpan().Trim();
        value = 0;
        if (number.ContainsAnyExcept(NumberCharacters))
        {
            return false;
        }

        // Fast path: most numbers have few digits.
        if (long.TryParse(
            number, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long plain))
        {
            value = plain;
            return true;
        }

        return double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out _)
            && TryReadDigits(number, out value);
    }

    /// <summary>A number with a fraction or an exponent, or one of the three special values, rounded once to
    /// the precision of its type.</summary>
    public static bool TryRead<TNumber>(string text, out TNumber number)
        where TNumber : IFloatingPoint<TNumber> =>
        TNumber.TryParse(
            text.AsSpan().Trim(), NumberStyles.Float, CultureInfo.InvariantCulture, out number!)
        && IsWhatItSays(text, TNumber.IsInfinity(number));

    /// <summary>The whole number that a number of JSON is.</summary>
    /// <param name="text">Of the grammar of JSON.</param>
    /// <param name="value">The number; a number that is too large for every type stays too large.</param>
    public static bool TryReadWhole(ReadOnlySpan<byte> text, out Int128 value)
    {
        Span<char> number = text.Length <= ShortLength ? stackalloc char[text.Length] : new char[text.Length];
        Encoding.ASCII.GetChars(text, number);
        return TryReadDigits(number, out value);
    }

    // A number that is too large is parsed as infinity.
    private static bool IsWhatItSays(ReadOnlySpan<char> text, bool isInfinity) => !text.Contains(Zero)
        && (!isInfinity || text.Trim().EndsWith(Infinity, StringComparison.OrdinalIgnoreCase));

    private static bool TryReadDigits(ReadOnlySpan<char> text, out Int128 value)
    {
        bool negative = text[0] == '-';
        int end = text.IndexOfAny('e', 'E');
        ReadOnlySpan<char> mantissa = text[(text[0] is '-' or '+' ? 1 : 0)..(end < 0 ? text.Length : end)];
        long exponent = end < 0 ? 0 : ExponentOf(text[(end + 1)..]);
        Int128 digits = 0;
        int zeros = 0;
        bool inFraction = false;
        foreach (char character in mantissa)
        {
            if (character == '.')
            {
                inFraction = true;
                continue;
            }

            exponent -= inFraction ? 1 : 0;
            if (character == '0')
            {
                // Zeros only count if another digit follows: 1.000 is 1.
                zeros++;
                continue;
            }

            for (zeros = digits == 0 ? 0 : zeros; zeros >= 0; zeros--)
            {
                if (digits > Int128.MaxValue / 100)
                {
                    // No type has that many digits, so the result is either too large or not a whole number.
                    value = Int128.MaxValue;
                    return true;
                }

                digits *= 10;
            }

            digits += character - '0';
            zeros = 0;
        }

        exponent += zeros;
        for (; exponent > 0 && digits != 0 && digits <= Int128.MaxValue / 10; exponent--)
        {
            digits *= 10;
        }

        value = negative ? -digits : digits;
        return exponent >= 0 || digits == 0;
    }

    // The exponent is limited: no text has as many digits.
    private static long ExponentOf(ReadOnlySpan<char> text)
    {
        bool negative = text[0] == '-';
        long exponent = 0;
        foreach (char digit in text.TrimStart("+-"))
        {
            exponent = Math.Min((exponent * 10) + (digit - '0'), MaxExponent);
        }

        return negative ? -exponent : exponent;
    }
}

/// <summary>Values and names as error messages show them.</summary>
internal static class ValueText
{
    private const int MaxLength = 60;
    private const int MaxNames = 12;
    private const int MaxNameLength = 200;

    /// <summary>The value, shortened, and its type: <c>'abc' (String)</c>.</summary>
    public static string Format(object? value) => value switch
    {
        null => "null",
        string text => $"'{Shortened(text)}' (String)",
        IDictionary dictionary => $"a dictionary with {dictionary.Count} keys ({TypeName(value)})",
        ICollection list => $"a list of {list.Count} ({TypeName(value)})",
        IFormattable or IConvertible =>
            $"'{Shortened(Convert.ToString(value, CultureInfo.InvariantCulture) ?? "")}' ({TypeName(value)})",
        _ => $"an object ({TypeName(value)})",
    };

    /// <summary>A list of names after an introduction, limited to a readable number.</summary>
    public static string OfNames(IEnumerable<string> names, string introduction, string none)
    {
        string[] all = names.ToArray();
        string more = all.Length > MaxNames ? $" and {all.Length - MaxNames} more" : "";
        return all.Length == 0 ? none : $"{introduction} {string.Join(", ", all.Take(MaxNames))}{more}";
    }

    /// <summary>Why a name is not a value of an enum, with the nearest name or the names that the enum
    /// has.</summary>
    public static string NotInEnum(RpcEnumInfo type, string name)
    {
        IEnumerable<string> names = type.Values.Select(value => value.Key);
        string hint = NearestName.Hint(name, names);
        return $"is not in the enum {type.FullName}."
            + (hint.Length > 0 ? hint : OfNames(names, " Its names are", " It has no names") + ".");
    }

    /// <summary>A name that a user gave, shortened if it is too long.</summary>
    public static string OfName(string name) =>
        name.Length <= MaxNameLength ? name : string.Concat(name.AsSpan(0, MaxNameLength), "...");

    private static string TypeName(object value) => value.GetType() is { IsEnum: true } type
        ? type.FullName ?? type.Name
        : value.GetType().Name;

    private static string Shortened(string text) =>
        text.Length <= MaxLength ? text : string.Concat(text.AsSpan(0, MaxLength), "...");
}
