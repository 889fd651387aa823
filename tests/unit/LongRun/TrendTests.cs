using ProtoRpc.LongRun.Measures;

namespace ProtoRpc.Tests.LongRun;

public static class TrendTests
{
    [Theory]
    [InlineData(0, true)]
    [InlineData(0.05, true)]
    [InlineData(0.5, false)]
    [InlineData(-0.5, true)]
    public static void A_measure_that_grows_by_more_than_it_may_is_not_flat(double perSecond, bool isFlat)
    {
        Sample[] samples = [.. Samples(second => 100 + (second * perSecond))];

        Assert.Equal(isFlat, Of(samples, "handles").IsFlat);
        Assert.True(Of(samples, "threads").IsFlat);
    }

    [Fact]
    public static void A_slow_leak_that_a_short_run_does_not_show_shows_in_a_long_one()
    {
        Assert.True(Of([.. Samples(Slow)], "handles").IsFlat);
        Assert.False(Of([.. Samples(Slow, period: 30)], "handles").IsFlat);

        static double Slow(double second) => 100 + (second / 60);
    }

    [Fact]
    public static void The_warm_up_and_single_peaks_do_not_count()
    {
        Sample[] samples = [.. Samples(second => second < 30 ? second : second % 10 == 0 ? 500 : 30)];

        Assert.Equal(0, Of(samples, "handles").Growth);
    }

    [Fact]
    public static void Noise_around_the_same_value_is_flat()
    {
        Random random = new(7);

        Assert.InRange(Of([.. Samples(_ => 100 + random.Next(20))], "handles").Growth, -5, 5);
    }

    [Fact]
    public static void Too_few_samples_are_an_error()
    {
        Sample[] samples = [.. Samples(_ => 1).Take(Trend.Fewest)];

        Assert.Throws<InvalidOperationException>(() => Trend.Of(samples));
    }

    [Fact]
    public static void A_process_without_runspaces_has_no_trend_of_them() =>
        Assert.DoesNotContain(Trend.Of([.. Samples(_ => 1)]), trend => trend.Measure.Name == "runspaces");

    private static Trend Of(Sample[] samples, string measure) =>
        Trend.Of(samples).Single(trend => trend.Measure.Name == measure);

    private static IEnumerable<Sample> Samples(Func<double, double> handles, double period = 1) =>
        Enumerable.Range(1, 100).Select(i => i * period).Select(
            second => new Sample(second, (long)second, handles(second), 20, 10, 100));
}
