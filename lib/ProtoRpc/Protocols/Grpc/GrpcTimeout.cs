using System.Globalization;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>The header grpc-timeout: at most eight digits and a unit.</summary>
internal static class GrpcTimeout
{
    public const string HeaderName = "grpc-timeout";

    private const int MaxDigits = 8;
    private const long MaxValue = 99_999_999;

    // From the finest to the coarsest that a TimeSpan can be written in.
    private static readonly (char Unit, long Ticks)[] Units =
    [
        ('u', TimeSpan.TicksPerMicrosecond),
        ('m', TimeSpan.TicksPerMillisecond),
        ('S', TimeSpan.TicksPerSecond),
        ('M', TimeSpan.TicksPerMinute),
        ('H', TimeSpan.TicksPerHour),
    ];

    /// <summary>Writes a time in the finest unit that holds it, rounded up;
    /// what is longer than all is the longest.</summary>
    public static string Format(TimeSpan timeout)
    {
        long ticks = Math.Max(1, timeout.Ticks);
        foreach ((char unit, long size) in Units)
        {
            long count = (ticks / size) + (ticks % size == 0 ? 0 : 1);
            if (count <= MaxValue)
            {
                return string.Create(CultureInfo.InvariantCulture, $"{count}{unit}");
            }
        }

        return string.Create(CultureInfo.InvariantCulture, $"{MaxValue}H");
    }

    /// <summary>Reads a time; null when the text is not one.</summary>
    public static TimeSpan? Parse(string text)
    {
        if (text.Length is < 2 or > MaxDigits + 1
            || !long.TryParse(
                text.AsSpan(0, text.Length - 1), NumberStyles.None,
                CultureInfo.InvariantCulture, out long count))
        {
            return null;
        }

        if (text[^1] == 'n')
        {
            // Hundreds of nanoseconds are the finest there is here; some time left is not none.
            return TimeSpan.FromTicks(
                (count + TimeSpan.NanosecondsPerTick - 1) / TimeSpan.NanosecondsPerTick);
        }

        foreach ((char unit, long size) in Units)
        {
            if (unit == text[^1])
            {
                return TimeSpan.FromTicks(count > long.MaxValue / size ? long.MaxValue : count * size);
            }
        }

        return null;
    }
}
