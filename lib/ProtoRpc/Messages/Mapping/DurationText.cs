namespace ProtoRpc.Messages.Mapping;

/// <summary>Durations as people write them: seconds (<c>2.5</c>), a number with a unit (<c>50ms</c>), or a
/// time with colons (<c>00:01:30</c>).</summary>
internal static class DurationText
{
    /// <summary>The forms, for errors.</summary>
    public const string Forms = "seconds (2.5), or text such as '50ms', '1.5s', '5m' or '00:01:30'";

    private const decimal NanosPerSecond = WellKnownTime.NanosPerSecond;

    // Searched in this order, because "ms" also ends with "s".
    private static readonly (string Name, decimal Nanos)[] Units =
    [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", NanosPerSecond),
        ("m", 60 * NanosPerSecond),
        ("h", 3600 * NanosPerSecond),
    ];

    /// <summary>Reads a duration.</summary>
    /// <returns>False if the text is not a duration, or is out of range.</returns>
    public static bool TryParse(string text, out long seconds, out int nanos)
    {
        text = text.Trim();
        (seconds, nanos) = (0, 0);
        if (text.Contains(':'))
        {
            bool isTime = TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out TimeSpan time);
            (seconds, nanos) = WellKnownTime.OfTimeSpan(time);
            return isTime && WellKnownTime.IsDuration(seconds, nanos);
        }

        // ProtoJSON's form is read first, because it is exact.
        if (WellKnownTime.TryParseDuration(text, out seconds, out nanos))
        {
            return true;
        }

        (string? unit, decimal factor) = Array.Find(
            Units, known => text.EndsWith(known.Name, StringComparison.Ordinal));
        return unit != "s"
            && decimal.TryParse(
                text.AsSpan()[..^(unit?.Length ?? 0)], NumberStyles.Float, CultureInfo.InvariantCulture,
                out decimal number)
            && TryScale(number, unit is null ? NanosPerSecond : factor, out seconds, out nanos);
    }

    /// <summary>Reads a time. With colons, it may be longer than a Duration can be.</summary>
    /// <returns>Null if the text is not a duration.</returns>
    public static TimeSpan? TryParse(string text) =>
        text.Contains(':') && TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out TimeSpan time) ? time
        : TryParse(text, out long seconds, out int nanos) ? WellKnownTime.ToTimeSpan(seconds, nanos)
        : null;

    /// <summary>Reads a number of seconds.</summary>
    /// <returns>False if the value is no number, or is out of the range of a Duration.</returns>
    public static bool TryReadSeconds(object value, out long seconds, out int nanos)
    {
        (seconds, nanos) = (0, 0);
        if (value is decimal exact)
        {
            return TryScale(exact, NanosPerSecond, out seconds, out nanos);
        }

        // A double in this range can be converted to a decimal.
        return ScalarReader.TryGetDouble(value, out double number)
            && Math.Abs(number) <= WellKnownTime.MaxDurationSeconds
            && TryScale((decimal)number, NanosPerSecond, out seconds, out nanos);
    }

    private static bool TryScale(decimal number, decimal factor, out long seconds, out int nanos)
    {
        (seconds, nanos) = (0, 0);
        if (Math.Abs(number) > WellKnownTime.MaxDurationSeconds * (NanosPerSecond / factor))
        {
            return false;
        }

        decimal all = Math.Round(number * factor);
        seconds = (long)decimal.Truncate(all / NanosPerSecond);
        nanos = (int)(all % NanosPerSecond);
        return WellKnownTime.IsDuration(seconds, nanos);
    }
}
