using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Timestamps and durations as seconds and nanoseconds, and as the text that ProtoJSON gives
/// them.</summary>
internal static class WellKnownTime
{
    public const long MinSeconds = -62_135_596_800;
    public const long MaxSeconds = 253_402_300_799;
    public const long MaxDurationSeconds = 315_576_000_000;
    public const int NanosPerTick = 100;

    public const int NanosPerSecond = 1_000_000_000;
    private const int NanoDigits = 9;
    private const string DateFormat = "yyyy-MM-dd'T'HH:mm:ss";
    private const int DateLength = 19;
    private const int DayLength = 10;
    private const int MinuteLength = 16;
    private const int OffsetLength = 6;

    public static bool IsTimestamp(long seconds, int nanos) =>
        seconds is >= MinSeconds and <= MaxSeconds && nanos is >= 0 and < NanosPerSecond;

    public static bool IsDuration(long seconds, int nanos) =>
        seconds is >= -MaxDurationSeconds and <= MaxDurationSeconds &&
        nanos is > -NanosPerSecond and < NanosPerSecond &&
        (seconds == 0 || nanos == 0 || seconds < 0 == nanos < 0);

    public static (long Seconds, int Nanos) OfDate(DateTimeOffset time)
    {
        (long seconds, long ticks) = Math.DivRem(time.UtcTicks, TimeSpan.TicksPerSecond);
        return (seconds + MinSeconds, (int)ticks * NanosPerTick);
    }

    public static (long Seconds, int Nanos) OfTimeSpan(TimeSpan span)
    {
        (long seconds, long ticks) = Math.DivRem(span.Ticks, TimeSpan.TicksPerSecond);
        return (seconds, (int)ticks * NanosPerTick);
    }

    /// <summary>The time in UTC, in units of 100 ns; null if it is out of range.</summary>
    public static DateTimeOffset? ToDate(long seconds, int nanos) => IsTimestamp(seconds, nanos)
        ? new DateTimeOffset(
            ((seconds - MinSeconds) * TimeSpan.TicksPerSecond) + (nanos / NanosPerTick), TimeSpan.Zero)
        : null;

    /// <summary>The duration, in units of 100 ns; null if it is out of range.</summary>
    public static TimeSpan? ToTimeSpan(long seconds, int nanos) => IsDuration(seconds, nanos)
        ? new TimeSpan((seconds * TimeSpan.TicksPerSecond) + (nanos / NanosPerTick))
        : null;

    /// <summary>The time in RFC 3339 format, with 0, 3, 6 or 9 decimal places; null if it is out of
    /// range.</summary>
    public static string? TextOfTimestamp(long seconds, int nanos) => IsTimestamp(seconds, nanos)
        ? new DateTime((seconds - MinSeconds) * TimeSpan.TicksPerSecond)
            .ToString(DateFormat, CultureInfo.InvariantCulture) + FractionOf(nanos) + "Z"
        : null;

    /// <summary>The duration in seconds, such as <c>1.500s</c>; null if it is out of range.</summary>
    public static string? TextOfDuration(long seconds, int nanos) => IsDuration(seconds, nanos)
        ? (seconds < 0 || nanos < 0 ? "-" : "") +
            Math.Abs(seconds).ToString(CultureInfo.InvariantCulture) + FractionOf(Math.Abs(nanos)) + "s"
        : null;

    /// <summary>Reads RFC 3339: <c>2024-02-29T12:30:00.123456789+01:00</c>, up to nine digits of a
    /// second.</summary>
    public static bool TryParseTimestamp(ReadOnlySpan<char> text, out long seconds, out int nanos)
    {
        (seconds, nanos) = (0, 0);
        if (text.Length <= DateLength || text[DateLength - 9] is not ('T' or 't' or ' '))
        {
            return false;
        }
        Span<char> date = stackalloc char[DateLength];
        text[..DateLength].CopyTo(date);
        date[DateLength - 9] = 'T';
        ReadOnlySpan<char> rest = text[DateLength..];
        if (!DateTime.TryParseExact(
                date, DateFormat, CultureInfo.InvariantCulture,
                DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal, out DateTime utc) ||
            !TryTakeFraction(ref rest, out nanos) ||
            !TryParseOffset(rest, out long offset))
        {
            return false;
        }
        seconds = (utc.Ticks / TimeSpan.TicksPerSecond) + MinSeconds - offset;
        return IsTimestamp(seconds, nanos);
    }

    /// <summary>Reads a date without an offset, which is in UTC: <c>2024-02-29</c>, <c>2024-02-29 12:30</c>,
    /// <c>2024-02-29T12:30:00.5</c>.</summary>
    public static bool TryParsePlainDate(string text, out long seconds, out int nanos)
    {
        string missing = text.Length switch
        {
            DayLength => "T00:00:00Z",
            MinuteLength => ":00Z",
            _ => "Z",
        };
        return TryParseTimestamp(text + missing, out seconds, out nanos);
    }

    /// <summary>Reads ProtoJSON's duration: <c>-1.5s</c>, up to nine digits of a second.</summary>
    public static bool TryParseDuration(ReadOnlySpan<char> text, out long seconds, out int nanos)
    {
        (seconds, nanos) = (0, 0);
        if (text is not [.. var number, 's' or 'S'])
        {
            return false;
        }
        bool negative = number is ['-', ..];
        ReadOnlySpan<char> rest = negative ? number[1..] : number;
        int digits = rest.IndexOfAnyExceptInRange('0', '9');
        ReadOnlySpan<char> whole = digits < 0 ? rest : rest[..digits];
        rest = rest[whole.Length..];
        if (!long.TryParse(whole, NumberStyles.None, CultureInfo.InvariantCulture, out seconds) ||
            !TryTakeFraction(ref rest, out nanos) || !rest.IsEmpty)
        {
            return false;
        }
        if (negative)
        {
            (seconds, nanos) = (-seconds, -nanos);
        }
        return IsDuration(seconds, nanos);
    }

    private static string FractionOf(int nanos) => nanos switch
    {
        0 => "",
        _ when nanos % 1_000_000 == 0 =>
            string.Create(CultureInfo.InvariantCulture, $".{nanos / 1_000_000:000}"),
        _ when nanos % 1_000 == 0 => string.Create(CultureInfo.InvariantCulture, $".{nanos / 1_000:000000}"),
        _ => string.Create(CultureInfo.InvariantCulture, $".{nanos:000000000}"),
    };

    private static bool TryTakeFraction(ref ReadOnlySpan<char> text, out int nanos)
    {
        nanos = 0;
        if (text is not ['.', ..])
        {
            return true;
        }
        text = text[1..];
        int end = text.IndexOfAnyExceptInRange('0', '9');
        ReadOnlySpan<char> digits = end < 0 ? text : text[..end];
        if (digits.Length is 0 or > NanoDigits)
        {
            return false;
        }
        for (int i = 0; i < NanoDigits; i++)
        {
            nanos = (nanos * 10) + (i < digits.Length ? digits[i] - '0' : 0);
        }
        text = text[digits.Length..];
        return true;
    }

    private static bool TryParseOffset(ReadOnlySpan<char> text, out long seconds)
    {
        seconds = 0;
        if (text is ['Z' or 'z'])
        {
            return true;
        }
        if (text.Length != OffsetLength || text[0] is not ('+' or '-') || text[3] != ':' ||
            !int.TryParse(
                text[1..3], NumberStyles.None, CultureInfo.InvariantCulture, out int hours) || hours > 23 ||
            !int.TryParse(
                text[4..], NumberStyles.None, CultureInfo.InvariantCulture, out int minutes) || minutes > 59)
        {
            return false;
        }
        seconds = (text[0] == '-' ? -1 : 1) * ((hours * 3600L) + (minutes * 60L));
        return true;
    }
}

/// <summary>Times and durations of .NET that keep the nanoseconds of their messages.</summary>
/// <remarks>.NET counts in units of 100 ns. The rest is stored in a table for the boxed value, and found
/// again as long as the same box is passed on: by handlers that return their request, in lists, and in
/// hashtables of scripts. Most times have no rest, and nothing is stored for them.</remarks>
internal static class ExactTime
{
    private static readonly ConditionalWeakTable<object, object> Rests = [];

    /// <summary>The time in UTC; null if it is out of range.</summary>
    public static object? ToDate(long seconds, int nanos) => Box(WellKnownTime.ToDate(seconds, nanos), nanos);

    /// <summary>The duration; null if it is out of range.</summary>
    public static object? ToTimeSpan(long seconds, int nanos) =>
        Box(WellKnownTime.ToTimeSpan(seconds, nanos), nanos);

    /// <summary>The seconds and nanoseconds of a DateTimeOffset.</summary>
    public static (long Seconds, int Nanos) OfDate(object time) =>
        WithRest(WellKnownTime.OfDate((DateTimeOffset)time), time);

    /// <summary>The seconds and nanoseconds of a TimeSpan.</summary>
    public static (long Seconds, int Nanos) OfTimeSpan(object span) =>
        WithRest(WellKnownTime.OfTimeSpan((TimeSpan)span), span);

    private static object? Box(object? value, int nanos)
    {
        int rest = nanos % WellKnownTime.NanosPerTick;
        if (rest != 0 && value is not null)
        {
            Rests.Add(value, rest);
        }

        return value;
    }

    private static (long Seconds, int Nanos) WithRest((long Seconds, int Nanos) time, object value) =>
        Rests.TryGetValue(value, out object? rest) ? (time.Seconds, time.Nanos + (int)rest) : time;
}
