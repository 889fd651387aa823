namespace ProtoRpc.LongRun.Measures;

/// <summary>How much a measure grew over the samples after a warm-up.</summary>
/// <param name="Measure">The measure.</param>
/// <param name="Median">Its median.</param>
/// <param name="Growth">The slope of its samples times the time between the first and the last.</param>
/// <param name="Seconds">That time.</param>
internal sealed record Trend(Measure Measure, double Median, double Growth, double Seconds)
{
    /// <summary>The fewest samples that say something.</summary>
    public const int Fewest = 10;

    // Code is compiled again, pools and caches fill, and the first of each kind of call has been made.
    private const double WarmUp = 0.3;

    // However short the run: until each thread has rented a large array of the shared pool, its heap grows.
    private const double WarmUpSeconds = 12;

    public bool IsFlat => Growth <= Measure.Most;

    /// <summary>The trend of each measure that the samples have.</summary>
    /// <exception cref="InvalidOperationException">There are too few samples.</exception>
    public static IReadOnlyList<Trend> Of(IReadOnlyList<Sample> samples)
    {
        double warmUp = samples.Count == 0 ? 0 : Math.Max(WarmUpSeconds, samples[^1].Seconds * WarmUp);
        Sample[] warm = [.. samples.SkipWhile(sample => sample.Seconds < warmUp)];
        if (warm.Length < Fewest)
        {
            throw new InvalidOperationException($"There are {warm.Length} samples, too few to see a trend.");
        }

        return [.. Measure.All.Where(measure => warm.All(sample => measure.Of(sample) is not null))
            .Select(measure => Of(measure, warm))];
    }

    // The median of the slopes between all pairs (Theil and Sen): single peaks do not count.
    private static Trend Of(Measure measure, Sample[] samples)
    {
        List<double> slopes = [];
        for (int i = 0; i < samples.Length; i++)
        {
            for (int j = i + 1; j < samples.Length; j++)
            {
                slopes.Add(
                    (measure.Of(samples[j])!.Value - measure.Of(samples[i])!.Value)
                    / (samples[j].Seconds - samples[i].Seconds));
            }
        }

        double seconds = samples[^1].Seconds - samples[0].Seconds;
        return new Trend(
            measure, MiddleOf([.. samples.Select(sample => measure.Of(sample)!.Value)]),
            MiddleOf(slopes) * seconds, seconds);
    }

    private static double MiddleOf(List<double> values)
    {
        values.Sort();
        return values[values.Count / 2];
    }
}
