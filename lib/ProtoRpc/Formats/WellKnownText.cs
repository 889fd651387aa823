using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Formats;

/// <summary>The well-known types that are one text: Timestamp, Duration and FieldMask, as ProtoJSON has
/// them.</summary>
internal static class WellKnownText
{
    /// <summary>Whether a message type has a text form. A wrapper has that of its value.</summary>
    public static bool IsOne(WellKnownType type) => type is WellKnownType.Timestamp or WellKnownType.Duration
        or WellKnownType.FieldMask or WellKnownType.Wrapper;

    /// <returns>False if the message has no text; <paramref name="problem"/> contains the reason.</returns>
    public static bool TryWrite(
        DynamicMessage message, [NotNullWhen(true)] out string? text,
        [NotNullWhen(false)] out string? problem)
    {
        FieldLayout[] fields = message.Layout.Fields;
        if (message.Layout.WellKnown == WellKnownType.FieldMask)
        {
            return FieldMaskText.TryWrite(
                message.References[fields[0].Slot] as List<string> ?? [], out text, out problem);
        }
        long seconds = (long)message.Scalars[fields[0].Slot];
        int nanos = (int)message.Scalars[fields[1].Slot];
        bool isTime = message.Layout.WellKnown == WellKnownType.Timestamp;
        text = isTime
            ? WellKnownTime.TextOfTimestamp(seconds, nanos)
            : WellKnownTime.TextOfDuration(seconds, nanos);
        problem = text is null
            ? $"{seconds} s, {nanos} ns is not a {(isTime ? "time from year 1 to 9999" : "duration up to "
                + $"{WellKnownTime.MaxDurationSeconds} s, with one sign")}."
            : null;
        return text is not null;
    }

    /// <returns>The error of the text, or null.</returns>
    public static string? Read(in MessageTarget message, string text)
    {
        FieldLayout[] fields = message.Layout.Fields;
        long seconds;
        int nanos;
        switch (message.Layout.WellKnown)
        {
            case WellKnownType.FieldMask:
                List<string> paths = [];
                if (!FieldMaskText.TryRead(text, paths))
                {
                    return "is not a list of paths such as 'user.displayName,photo'.";
                }
                foreach (string path in paths)
                {
                    message.Store(fields[0], path);
                }
                return null;
            case WellKnownType.Timestamp:
                // RFC 3339 allows small letters and a space; ProtoJSON does not.
                if (text.AsSpan().ContainsAny("tz ") ||
                    !WellKnownTime.TryParseTimestamp(text, out seconds, out nanos))
                {
                    return "is not a time such as '2024-02-29T12:30:00.5Z', from year 1 to 9999.";
                }
                break;
            default:
                if (text.EndsWith('S') || !WellKnownTime.TryParseDuration(text, out seconds, out nanos))
                {
                    return "is not a duration such as '1.5s', of at most "
                        + $"{WellKnownTime.MaxDurationSeconds} s.";
                }
                break;
        }
        message.Store(fields[0], (ulong)seconds);
        message.Store(fields[1], ScalarValue.ToBits(nanos));
        return null;
    }
}

/// <summary>The paths of a FieldMask in one text: in lowerCamelCase, with commas.</summary>
internal static class FieldMaskText
{
    private static readonly SearchValues<char> PathCharacters =
        SearchValues.Create(".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    /// <returns>False if reading would return another path.</returns>
    public static bool TryWrite(
        List<string> paths, [NotNullWhen(true)] out string? text, [NotNullWhen(false)] out string? problem)
    {
        StringBuilder all = new();
        foreach (string path in paths)
        {
            if (!TryMakeCamel(path, all.Length == 0 ? all : all.Append(',')))
            {
                text = null;
                problem = $"the path '{path}' cannot be written in lowerCamelCase: each underscore stands " +
                    "before a small letter, and there are no capitals.";
                return false;
            }
        }
        text = all.ToString();
        problem = null;
        return true;
    }

    public static bool TryRead(string text, List<string> paths)
    {
        if (text.Length == 0)
        {
            return true;
        }
        foreach (Range path in text.AsSpan().Split(','))
        {
            if (text.AsSpan()[path].IsEmpty || text.AsSpan()[path].ContainsAnyExcept(PathCharacters))
            {
                return false;
            }
        }
        StringBuilder snake = new();
        foreach (Range path in text.AsSpan().Split(','))
        {
            snake.Clear();
            foreach (char c in text.AsSpan()[path])
            {
                _ = char.IsAsciiLetterUpper(c)
                    ? snake.Append('_').Append(char.ToLowerInvariant(c))
                    : snake.Append(c);
            }
            paths.Add(snake.ToString());
        }
        return true;
    }

    private static bool TryMakeCamel(string path, StringBuilder camel)
    {
        for (int i = 0; i < path.Length; i++)
        {
            char c = path[i];
            if (c == '_')
            {
                if (++i == path.Length || !char.IsAsciiLetterLower(path[i]))
                {
                    return false;
                }
                camel.Append(char.ToUpperInvariant(path[i]));
            }
            else if (c == '.' || char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c))
            {
                camel.Append(c);
            }
            else
            {
                return false;
            }
        }
        return path.Length > 0;
    }
}

/// <summary>Scalars as text, the same in every culture.</summary>
internal static class ScalarText
{
    /// <summary>The text of a map key: strings, numbers, <c>true</c> and <c>false</c>.</summary>
    public static string OfKey(object key) => key switch
    {
        string text => text,
        bool flag => flag ? "true" : "false",
        _ => Convert.ToString(key, CultureInfo.InvariantCulture)!,
    };

    /// <summary>The text of a scalar: enums by name if they have one, floating point numbers as short as
    /// possible.</summary>
    public static string Format(FieldLayout field, ulong bits) => field.Kind switch
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

/// <summary>Reads base64 in both alphabets, with or without padding.</summary>
internal static class Base64Text
{
    private const int GroupLength = 4;

    public static bool TryDecode(string text, out byte[] bytes)
    {
        ReadOnlySpan<char> digits = text.AsSpan().TrimEnd('=');
        int padding = text.Length - digits.Length;
        int rest = digits.Length % GroupLength;
        bytes = [];
        if (rest == 1 || digits.ContainsAny(" \t\r\n") ||
            (padding > 0 && (padding > 2 || text.Length % GroupLength != 0)))
        {
            return false;
        }
        char[] standard = new char[digits.Length + ((GroupLength - rest) % GroupLength)];
        digits.CopyTo(standard);
        standard.AsSpan(digits.Length).Fill('=');
        standard.AsSpan().Replace('-', '+');
        standard.AsSpan().Replace('_', '/');
        byte[] decoded = new byte[standard.Length / GroupLength * 3];
        if (!Convert.TryFromBase64Chars(standard, decoded, out int length))
        {
            return false;
        }
        bytes = decoded.Length == length ? decoded : decoded[..length];
        return true;
    }
}
