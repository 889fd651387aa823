using ProtoRpc.Protocols;

namespace ProtoRpc.Tests.Protocols;

public static class RequestMemoryTests
{
    private const int Kibi = 1024;

    [Fact]
    public static void Small_requests_do_not_count()
    {
        RequestMemory memory = new(1);
        RequestMemory.Share[] shares =
            [.. Enumerable.Range(0, 100).Select(_ => new RequestMemory.Share(memory))];

        Assert.All(shares, share => Assert.True(share.TryHold(64 * Kibi)));
        Assert.Equal(0, memory.Held);
    }

    [Fact]
    public static void One_that_comes_alone_has_room_and_then_no_other()
    {
        RequestMemory memory = new(100 * Kibi);
        RequestMemory.Share alone = new(memory);
        RequestMemory.Share second = new(memory);

        Assert.True(alone.TryHold(90 * Kibi));
        Assert.True(alone.TryHold(200 * Kibi));
        Assert.False(second.TryHold(65 * Kibi));
        Assert.True(second.TryHold(10 * Kibi));
        Assert.Equal(100 * Kibi * 7 / 8, memory.Held);

        alone.Release();
        Assert.True(second.TryHold(65 * Kibi));
        Assert.Equal(65 * Kibi, memory.Held);
    }

    [Fact]
    public static void What_has_no_room_is_refused_as_busy_and_keeps_what_it_had()
    {
        RequestMemory memory = new(300 * Kibi);
        RequestMemory.Share first = new(memory);
        RequestMemory.Share second = new(memory);
        first.Hold(150 * Kibi);
        second.Hold(100 * Kibi);

        RpcException error = Assert.Throws<RpcException>(() => second.Hold(151 * Kibi));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Equal("ServerBusy", error.ErrorId);
        Assert.Contains("MaxMemoryBytes", error.Message, StringComparison.Ordinal);
        Assert.Equal(250 * Kibi, memory.Held);
        second.Release();
        second.Release();
        Assert.Equal(150 * Kibi, memory.Held);
    }

    [Fact]
    public static void Decoded_messages_count_from_the_first_byte_and_beside_the_bytes_of_the_request()
    {
        RequestMemory memory = new(100 * Kibi);
        RequestMemory.Share one = new(memory);
        RequestMemory.Share other = new(memory);

        one.HoldDecoded(1);
        Assert.Equal(1, memory.Held);
        one.HoldDecoded(9 * Kibi);
        one.Hold(65 * Kibi);
        Assert.Equal((74 * Kibi) + 1, memory.Held);

        Assert.Throws<RpcException>(() => other.HoldDecoded(30 * Kibi));
        other.HoldDecoded(20 * Kibi);
        Assert.Equal((94 * Kibi) + 1, memory.Held);
        one.Release();
        other.Release();
        Assert.Equal(0, memory.Held);
    }

    [Fact]
    public static void Nothing_is_lost_while_one_thread_holds_and_another_releases()
    {
        RequestMemory memory = new(long.MaxValue);
        RequestMemory.Share share = new(memory);
        using Barrier together = new(2);

        Parallel.Invoke(
            () =>
            {
                together.SignalAndWait();
                for (int i = 0; i < 100_000; i++)
                {
                    share.HoldDecoded(7);
                }
            },
            () =>
            {
                together.SignalAndWait();
                for (int i = 0; i < 100_000; i++)
                {
                    share.Release();
                }
            });
        share.Release();

        Assert.Equal(0, memory.Held);
    }

    [Fact]
    public static void A_large_one_leaves_room_for_small_ones()
    {
        RequestMemory memory = new(80 * Kibi);
        RequestMemory.Share large = new(memory);
        RequestMemory.Share small = new(memory);

        small.HoldDecoded(5 * Kibi);
        large.HoldDecoded(1024 * Kibi);
        large.HoldDecoded(1024 * Kibi);
        small.HoldDecoded(5 * Kibi);

        Assert.False(small.TryHold(65 * Kibi));
        Assert.Throws<RpcException>(() => small.HoldDecoded(1));
    }

    [Fact]
    public static void Many_threads_never_hold_more_than_there_is()
    {
        const long Most = 1024 * Kibi;
        RequestMemory memory = new(Most);
        bool wasOver = false;

        Parallel.For(0, 16, seed =>
        {
            Random random = new(seed);
            RequestMemory.Share share = new(memory);
            for (int i = 0; i < 5_000; i++)
            {
                long bytes = random.Next(65 * Kibi, 200 * Kibi);
                share.TryHold(bytes);
                Thread.Yield();

                // Those that are about to be refused are in the sum for a moment.
                wasOver |= memory.Held - (16 * 200 * Kibi) > Most;
                share.Release();
            }
        });

        Assert.False(wasOver);
        Assert.Equal(0, memory.Held);
    }
}
