using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages.Mapping;

/// <summary>Times and durations of .NET that keep the nanoseconds of the message that they were made of.
/// </summary>
/// <remarks>.NET counts in units of 100 ns. What is less is stored beside the boxed value, and found again as
/// long as the same box is passed on: by handlers that return their request, in lists, and in hashtables of
/// scripts. Most times need none, and then nothing is stored.</remarks>
internal static class ExactTime
{
    private static readonly ConditionalWeakTable<object, object> Rests = [];

    /// <summary>The time in UTC; null if it is out of range.</summary>
    public static object? ToDate(long seconds, int nanos) =>
        Box(WellKnownTime.ToDate(seconds, nanos), nanos);

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
