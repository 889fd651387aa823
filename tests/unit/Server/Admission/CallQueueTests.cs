using System.Diagnostics;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.Tests.Server.Admission;

public static class CallQueueTests
{
    private static readonly TimeSpan NoBound = Timeout.InfiniteTimeSpan;

    [Fact]
    public static void Clients_take_turns_and_calls_of_a_client_keep_their_order()
    {
        CallQueue<string> queue = new(100, NoBound);
        Add(queue, "a", "a1", "a2", "a3", "a4");
        Add(queue, "b", "b1", "b2");
        Add(queue, "c", "c1");

        Assert.Equal(["a1", "b1", "c1", "a2", "b2", "a3", "a4"], Drain(queue));
        Assert.Equal(0, queue.Count);
    }

    [Fact]
    public static void A_client_of_one_call_comes_next_but_one_whatever_others_have()
    {
        CallQueue<string> queue = new(2000, NoBound);
        Add(queue, "greedy", [.. Enumerable.Range(0, 1000).Select(i => $"g{i}")]);
        Add(queue, "small", "s");

        Assert.True(queue.TryTake(out string? first));
        Assert.True(queue.TryTake(out string? second));
        Assert.Equal(("g0", "s"), (first, second));
    }

    [Fact]
    public static void A_full_queue_takes_no_more_of_the_client_that_has_the_most()
    {
        CallQueue<string> queue = new(3, NoBound);
        Add(queue, "a", "a1", "a2", "a3");

        Assert.False(queue.HasRoom("a", null));
        Assert.Null(queue.TryAdd("a", "a4", null, out string? displaced));
        Assert.Null(displaced);
        Assert.Equal(3, queue.Count);
    }

    [Fact]
    public static void In_a_full_queue_a_line_gives_way_that_is_twice_as_long()
    {
        CallQueue<string> queue = new(4, NoBound);
        Add(queue, "a", "a1", "a2", "a3", "a4");

        Assert.True(queue.HasRoom("b", null));
        Assert.NotNull(queue.TryAdd("b", "b1", null, out string? first));
        Assert.Null(queue.TryAdd("b", "b2", null, out _));
        Assert.NotNull(queue.TryAdd("c", "c1", null, out string? second));
        Assert.Null(queue.TryAdd("c", "c2", null, out _));
        Assert.NotNull(queue.TryAdd("d", "d1", null, out string? third));

        // Each client has one call now.
        Assert.Null(queue.TryAdd("e", "e1", null, out _));
        Assert.Equal(("a4", "a3", "a2"), (first, second, third));
        Assert.Equal(["a1", "b1", "c1", "d1"], Drain(queue));
    }

    [Fact]
    public static void Without_places_nothing_waits()
    {
        CallQueue<string> queue = new(0, NoBound);

        Assert.False(queue.HasRoom("a", null));
        Assert.Null(queue.TryAdd("a", "a1", null, out _));
        Assert.False(queue.TryTake(out _));
    }

    [Fact]
    public static void A_call_that_is_taken_out_leaves_nothing_behind()
    {
        CallQueue<string> queue = new(10, NoBound);
        CallQueue<string>.Place? first = queue.TryAdd("a", "a1", null, out _);
        CallQueue<string>.Place? middle = queue.TryAdd("b", "b1", null, out _);
        Add(queue, "c", "c1");

        Assert.True(queue.Remove(middle));
        Assert.False(queue.Remove(middle));
        Assert.False(queue.Remove(null));
        Assert.True(queue.TryTake(out _));
        Assert.False(queue.Remove(first));
        Assert.Equal(["c1"], queue.Clear());
        Assert.Equal(0, queue.Count);
        Assert.False(queue.TryTake(out _));
        Add(queue, "a", "again");
        Assert.Equal(["again"], Drain(queue));
    }

    [Fact]
    public static void A_call_is_late_when_it_has_waited_for_as_long_as_it_may()
    {
        CallQueue<string> patient = new(10, TimeSpan.FromHours(1));
        CallQueue<string> hasty = new(10, TimeSpan.FromTicks(1));
        Add(patient, "a", "a1");
        Add(hasty, "a", "a1");
        Add(hasty, "b", "b1");
        SpinUntilLater();

        Assert.False(patient.TryTakeLate(out _));
        Assert.True(hasty.TryTakeLate(out string? first));
        Assert.True(hasty.TryTakeLate(out string? second));
        Assert.Equal(("a1", "b1"), (first, second));
        Assert.False(hasty.TryTakeLate(out _));
    }

    [Fact]
    public static void A_thousand_clients_are_served_alike()
    {
        CallQueue<string> queue = new(10_000, NoBound);
        for (int round = 0; round < 10; round++)
        {
            for (int client = 0; client < 1000; client++)
            {
                Add(queue, $"c{client}", $"c{client}");
            }
        }

        List<string> order = Drain(queue);

        Assert.Equal(10_000, order.Count);
        Assert.All(order.Chunk(1000), round => Assert.Equal(1000, round.Distinct().Count()));
    }

    [Fact]
    public static void The_pace_knows_nothing_of_few_turns_and_then_the_mean()
    {
        long second = Stopwatch.Frequency;
        CallPace pace = new();
        pace.Resume(0);
        for (int i = 1; i <= 15; i++)
        {
            pace.Count(i * second / 10);
        }

        Assert.Equal(TimeSpan.Zero, pace.Expect(100, 2 * second));

        pace.Count(16 * second / 10);
        Assert.Equal(10, pace.Expect(100, 16 * second / 10).TotalSeconds, 3);

        // Handlers that end no more are a pace that slows down.
        Assert.Equal(20, pace.Expect(100, 32 * second / 10).TotalSeconds, 3);
    }

    [Fact]
    public static void The_pace_of_the_last_seconds_counts()
    {
        long second = Stopwatch.Frequency;
        CallPace pace = new();
        pace.Resume(0);
        for (int i = 1; i <= 20; i++)
        {
            pace.Count(i * second);
        }

        // Two seconds in which a hundred a second have their turn.
        for (int i = 1; i <= 201; i++)
        {
            pace.Count((20 * second) + (i * second / 100));
        }

        Assert.Equal(1, pace.Expect(100, 22 * second).TotalSeconds, 1);
    }

    [Fact]
    public static void A_slow_pace_is_forgotten_also_if_only_one_call_waits_at_a_time()
    {
        long second = Stopwatch.Frequency;
        CallPace pace = new();
        pace.Resume(0);
        for (int i = 1; i <= 16; i++)
        {
            pace.Count(i * 60 * second);
        }

        Assert.Equal(60, pace.Expect(1, 960 * second).TotalSeconds, 3);

        // Each waits for 10 ms, and then none waits for a second.
        long now = 960 * second;
        for (int i = 0; i < 120; i++)
        {
            now += second / 100;
            pace.Count(now);
            pace.Pause(now);
            now += second;
            pace.Resume(now);
        }

        Assert.True(pace.Expect(1, now) < TimeSpan.FromSeconds(1));
    }

    [Fact]
    public static void A_call_for_which_there_is_somebody_is_taken_without_room()
    {
        CallQueue<string> queue = new(0, NoBound);
        Assert.Null(queue.TryAdd("a", "a1", null, out _));

        Assert.NotNull(queue.Add("a", "a2"));

        Assert.Equal(["a2"], Drain(queue));
    }

    private static void Add(CallQueue<string> queue, string client, params string[] calls)
    {
        foreach (string call in calls)
        {
            Assert.NotNull(queue.TryAdd(client, call, null, out string? displaced));
            Assert.Null(displaced);
        }
    }

    private static List<string> Drain(CallQueue<string> queue)
    {
        List<string> order = [];
        while (queue.TryTake(out string? call))
        {
            order.Add(call);
        }

        return order;
    }

    private static void SpinUntilLater()
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromTicks(100))
        {
        }
    }
}
