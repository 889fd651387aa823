using System.Diagnostics;
using ProtoRpc.LoadTesting;

namespace ProtoRpc.Tests.LoadTesting;

public static class CallScheduleTests
{
    private const long Start = 1_000_000;

    private static readonly long Second = Stopwatch.Frequency;

    [Fact]
    public static void A_count_gives_as_many_calls_at_once()
    {
        CallSchedule schedule = new(Start, duration: null, count: 3, rate: null);

        Assert.True(schedule.TryTake(Start, out long due));
        Assert.Equal(Start, due);
        Assert.True(schedule.TryTake(Start + 5, out due));
        Assert.Equal(Start + 5, due);
        Assert.True(schedule.TryTake(long.MaxValue - 1, out _));
        Assert.False(schedule.TryTake(Start, out _));
        Assert.False(schedule.IsPaced);
        Assert.Equal(0, schedule.NotSent(Start));
    }

    [Fact]
    public static void A_duration_begins_no_call_at_its_end()
    {
        CallSchedule schedule = new(Start, TimeSpan.FromSeconds(1), count: null, rate: null);

        Assert.True(schedule.TryTake(Start + Second - 1, out _));
        Assert.False(schedule.TryTake(Start + Second, out _));
    }

    [Fact]
    public static void A_rate_makes_calls_due_at_even_times_whatever_the_caller_does()
    {
        CallSchedule schedule = new(Start, TimeSpan.FromSeconds(1), count: null, rate: 4);

        List<long> dues = [];
        while (schedule.TryTake(Start + (Second / 2), out long due))
        {
            dues.Add(due - Start);
        }

        Assert.Equal([0, Second / 4, Second / 2, Second / 4 * 3], dues);
        Assert.Equal(0, schedule.NotSent(Start + Second));
    }

    [Fact]
    public static void Calls_that_were_due_while_nobody_was_free_are_counted_at_the_end()
    {
        CallSchedule schedule = new(Start, TimeSpan.FromSeconds(1), count: null, rate: 100);
        for (int i = 0; i < 30; i++)
        {
            schedule.TryTake(Start, out _);
        }

        Assert.False(schedule.TryTake(Start + Second, out _));
        Assert.Equal(70, schedule.NotSent(Start + (5 * Second)));
    }

    [Fact]
    public static void A_test_that_is_stopped_early_lacks_only_what_was_due_by_then()
    {
        CallSchedule schedule = new(Start, TimeSpan.FromSeconds(10), count: null, rate: 100);
        schedule.TryTake(Start, out _);

        Assert.Equal(99, schedule.NotSent(Start + Second));
    }

    [Fact]
    public static void A_count_with_a_rate_lacks_none()
    {
        CallSchedule schedule = new(Start, duration: null, count: 5, rate: 10);
        int taken = 0;
        while (schedule.TryTake(Start + (20 * Second), out _))
        {
            taken++;
        }

        Assert.Equal(5, taken);
        Assert.Equal(0, schedule.NotSent(Start + (20 * Second)));
    }

    [Theory]
    [InlineData(0.001)]
    [InlineData(1_000_000)]
    public static void Rates_have_no_rounding_that_adds_up(double rate)
    {
        CallSchedule schedule = new(0, duration: null, count: 1001, rate);
        long due = -1;
        while (schedule.TryTake(0, out long next))
        {
            Assert.True(next > due);
            due = next;
        }

        Assert.Equal(1000 / rate * Stopwatch.Frequency, due, 1.0);
    }

    [Theory]
    [InlineData(0.25, 3)]
    [InlineData(0.5, 5)]
    [InlineData(1.25, 13)]
    [InlineData(3, 30)]
    public static void A_rate_goes_on_from_slice_to_slice(double rate, int calls)
    {
        int taken = 0;
        long untilFirst = 0;
        for (int i = 0; i < 10; i++)
        {
            CallSchedule schedule = new(Start, TimeSpan.FromSeconds(1), count: null, rate, untilFirst);
            while (schedule.TryTake(Start, out _))
            {
                taken++;
            }

            long late = Start + Second + 5;
            Assert.Equal(0, schedule.NotSent(late));
            Assert.Equal(Start + Second, schedule.OpenUntil);
            untilFirst = schedule.UntilNext(late);
        }

        Assert.Equal(calls, taken);
    }

    [Fact]
    public static void After_the_last_call_of_a_slice_the_next_one_is_due_an_interval_later()
    {
        CallSchedule schedule = new(Start, duration: null, count: 2, rate: 1);
        while (schedule.TryTake(Start, out _))
        {
        }

        Assert.Null(schedule.OpenUntil);
        Assert.Equal(Second - 10, schedule.UntilNext(Start + Second + 10));
        Assert.Equal(0, schedule.UntilNext(Start + (5 * Second)));
    }

    [Fact]
    public static void Callers_on_many_threads_get_each_call_once()
    {
        const int Calls = 100_000;
        CallSchedule schedule = new(0, duration: null, Calls, rate: 1000);
        System.Collections.Concurrent.ConcurrentBag<long> dues = [];
        Parallel.For(0, 8, _ =>
        {
            while (schedule.TryTake(0, out long due))
            {
                dues.Add(due);
            }
        });

        Assert.Equal(Calls, dues.Distinct().Count());
        Assert.Equal(Calls, dues.Count);
    }
}
