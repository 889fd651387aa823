using System.Diagnostics;

namespace ProtoRpc.Tests.LoadTesting;

public static class RpcLatencyHistogramTests
{
    // What the class promises: 0.4 %, and a tick of TimeSpan for rounding.
    private const double Error = 0.004;
    private const double TickNanoseconds = 100;

    [Theory]
    [InlineData(1, 1_000)]
    [InlineData(2, 100_000)]
    [InlineData(3, 10_000_000_000)]
    public static void Percentiles_are_within_the_stated_error_of_the_exact_ones(int seed, double median)
    {
        Random random = new(seed);
        RpcLatencyHistogram histogram = new();
        long[] values = new long[20_000];
        for (int i = 0; i < values.Length; i++)
        {
            // Many short and few long ones, over several powers of ten.
            values[i] = (long)(median * Math.Exp((random.NextDouble() + random.NextDouble() - 1) * 5));
            histogram.Record(values[i]);
        }

        Array.Sort(values);
        foreach (double percentile in new[] { 0.01, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100 })
        {
            long exact = values[(int)Math.Ceiling(Math.Round(percentile / 100 * values.Length, 6)) - 1];
            AssertClose(exact, histogram.Percentile(percentile));
        }

        Assert.Equal(values.Length, histogram.Count);
        Assert.Equal(values[0] / TickNanoseconds, histogram.Min.Ticks, 0.51);
        Assert.Equal(values[^1] / TickNanoseconds, histogram.Max.Ticks, 0.51);
        Assert.Equal(values.Average() / TickNanoseconds, histogram.Mean.Ticks, 0.51);
    }

    [Fact]
    public static void Every_value_is_close_to_what_its_bucket_reports()
    {
        for (double value = 1; value < 4e12; value *= 1.037)
        {
            // Min and Max are exact, so the value stands between two others.
            RpcLatencyHistogram histogram = new();
            histogram.Record(0);
            histogram.Record((long)value);
            histogram.Record(long.MaxValue);

            AssertClose((long)value, histogram.Percentile(50));
        }
    }

    [Fact]
    public static void All_but_one_of_a_thousand_are_within_99_9_percent()
    {
        RpcLatencyHistogram histogram = new();
        for (int i = 0; i < 999; i++)
        {
            histogram.Record(1_000_000);
        }

        histogram.Record(500_000_000);

        Assert.Equal(1, histogram.Percentile(99.9).TotalMilliseconds, 0.01);
        Assert.Equal(500, histogram.Percentile(99.95).TotalMilliseconds);
        Assert.Equal(500, histogram.Max.TotalMilliseconds);
    }

    [Fact]
    public static void Without_values_everything_is_zero()
    {
        RpcLatencyHistogram histogram = new();

        Assert.Equal(0, histogram.Count);
        Assert.Equal(TimeSpan.Zero, histogram.Min);
        Assert.Equal(TimeSpan.Zero, histogram.Mean);
        Assert.Equal(TimeSpan.Zero, histogram.Max);
        Assert.Equal(TimeSpan.Zero, histogram.Percentile(99));
        Assert.Empty(histogram.ToBuckets());
    }

    [Fact]
    public static void One_value_is_every_percentile()
    {
        RpcLatencyHistogram histogram = new();
        histogram.Record(123_456_700);

        foreach (double percentile in new[] { 0, 0.001, 50, 99.99, 100 })
        {
            Assert.Equal(1_234_567, histogram.Percentile(percentile).Ticks);
        }
    }

    [Fact]
    public static void Values_beyond_the_range_count_at_its_ends_and_the_longest_is_exact()
    {
        RpcLatencyHistogram histogram = new();
        histogram.Record(-5);
        histogram.Record((long)TimeSpan.FromDays(2).TotalNanoseconds);

        Assert.Equal(2, histogram.Count);
        Assert.Equal(TimeSpan.Zero, histogram.Min);
        Assert.Equal(TimeSpan.FromDays(2), histogram.Max);
        Assert.Equal(TimeSpan.Zero, histogram.Percentile(50));
    }

    [Theory]
    [InlineData(-0.1)]
    [InlineData(100.1)]
    [InlineData(double.NaN)]
    public static void A_percentile_is_from_0_to_100(double percentile)
    {
        ArgumentOutOfRangeException error = Assert.Throws<ArgumentOutOfRangeException>(
            () => new RpcLatencyHistogram().Percentile(percentile));

        Assert.Contains("0 to 100", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void Steps_are_round_and_have_every_value_once()
    {
        RpcLatencyHistogram histogram = new();
        foreach (long microseconds in new long[] { 3, 15, 15, 150, 1500 })
        {
            histogram.Record(microseconds * 1000);
        }

        IReadOnlyList<RpcLatencyBucket> steps = histogram.ToBuckets();

        Assert.Equal(
            [2, 5, 10, 20, 50, 100, 200, 500, 1000], steps.Select(step => step.From.TotalMicroseconds));
        Assert.Equal(2000, steps[^1].To.TotalMicroseconds);
        Assert.Equal([1, 0, 2, 0, 0, 1, 0, 0, 1], steps.Select(step => step.Count));
        Assert.Equal(1, steps.Sum(step => step.Share), 9);
    }

    [Fact]
    public static void Steps_of_the_shortest_and_the_longest_values_are_there_too()
    {
        RpcLatencyHistogram histogram = new();
        histogram.Record(0);
        histogram.Record(long.MaxValue);

        Assert.Equal([1, 1], histogram.ToBuckets().Select(step => step.Count).Where(count => count > 0));
    }

    [Fact]
    public static void Threads_count_into_one_at_the_same_time()
    {
        RpcLatencyHistogram histogram = new();
        Parallel.For(0, 8, thread =>
        {
            for (int i = 1; i <= 10_000; i++)
            {
                histogram.Record(i * 1000L);
            }
        });

        Assert.Equal(80_000, histogram.Count);
        Assert.Equal(1, histogram.Min.TotalMicroseconds);
        Assert.Equal(10_000, histogram.Max.TotalMicroseconds);
        Assert.Equal(80_000, histogram.ToBuckets().Sum(step => step.Count));
        Assert.Equal(5000.5, histogram.Mean.TotalMicroseconds, 0.1);
    }

    [Fact]
    public static void What_another_has_counted_can_be_added()
    {
        RpcLatencyHistogram low = new();
        RpcLatencyHistogram high = new();
        RpcLatencyHistogram sum = new();
        for (int i = 1; i <= 100; i++)
        {
            low.Record(i * 1000L);
            high.Record(i * 1_000_000L);
        }

        sum.Add(new RpcLatencyHistogram());
        sum.Add(low);
        sum.Add(high);

        Assert.Equal(200, sum.Count);
        Assert.Equal(1, sum.Min.TotalMicroseconds);
        Assert.Equal(100, sum.Max.TotalMilliseconds);
        AssertClose(100_000, sum.Percentile(50));
    }

    [Fact]
    public static void Ticks_of_the_clock_are_converted()
    {
        RpcLatencyHistogram histogram = new();
        histogram.RecordTicks(Stopwatch.Frequency / 4);

        Assert.Equal(250, histogram.Max.TotalMilliseconds, 0.001);
    }

    private static void AssertClose(long nanoseconds, TimeSpan time) => Assert.Equal(
        nanoseconds, time.TotalNanoseconds, (nanoseconds * Error) + (TickNanoseconds / 2));
}
