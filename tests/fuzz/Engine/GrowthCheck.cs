using System.Diagnostics;
using System.Globalization;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>Whether time grows with the input and no faster: what eight times the input takes is compared
/// with
/// what the input takes. Linear time gives 8, square time 64.</summary>
internal static class GrowthCheck
{
    private const int Times = 8;
    private const int Most = 28;
    private const int Rounds = 5;

    // Below, the clock and what else the machine does decide.
    private static readonly TimeSpan Least = TimeSpan.FromMilliseconds(2);

    // More time than any honest read of the largest input needs.
    private static readonly TimeSpan TooLong = TimeSpan.FromSeconds(10);

    /// <returns>Null when it does; what happened otherwise.</returns>
    public static string? Check(FuzzTarget target, GrowingInput shape)
    {
        byte[] few = shape.Make(shape.Pieces);
        byte[] many = shape.Make(shape.Pieces * Times);

        // The first run compiles.
        Measure(target, few);
        string? problem = null;

        // Colleagues of the machine only ever make a run longer, so one good round is proof.
        for (int round = 0; round < Rounds; round++)
        {
            TimeSpan one = Measure(target, few);
            TimeSpan other = Measure(target, many);
            double ratio = other / (one < Least ? Least : one);
            if (ratio < Most)
            {
                return null;
            }

            problem = string.Create(
                CultureInfo.InvariantCulture,
                $"{shape.Name}: {few.Length} bytes take {one.TotalMilliseconds:F1} ms, {many.Length} bytes "
                + $"{other.TotalMilliseconds:F1} ms, {ratio:F0} times as long for {Times} times the input");
            if (other > TooLong)
            {
                break;
            }
        }

        return problem;
    }

    private static TimeSpan Measure(FuzzTarget target, byte[] input)
    {
        long start = Stopwatch.GetTimestamp();
        target.Run(input, new Meter());
        return Stopwatch.GetElapsedTime(start);
    }
}
