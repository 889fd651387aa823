using ProtoRpc.LoadTesting;

namespace ProtoRpc.Tests.LoadTesting;

public static class CallerDelayTests
{
    [Fact]
    public static void Calls_that_were_due_while_the_caller_slept_too_long_have_no_delay_of_the_servers()
    {
        // Due every 200 ticks, 25 ticks a call, and woken 1,050 ticks late.
        CallerDelay delay = new();
        Assert.Equal(0, delay.StartOf(due: 0, free: 0, now: 0, out _));

        Assert.Equal(1250, delay.StartOf(due: 200, free: 25, now: 1250, out bool isLate));
        Assert.False(isLate);
        for (int i = 1; i <= 5; i++)
        {
            long now = 1250 + (25 * i);
            Assert.Equal(now, delay.StartOf(due: 200 + (200 * i), free: now, now, out isLate));
            Assert.False(isLate);
        }
    }

    [Fact]
    public static void A_call_that_was_due_while_the_server_held_its_caller_counts_from_then()
    {
        CallerDelay delay = new();
        delay.StartOf(due: 0, free: 0, now: 0, out _);
        delay.StartOf(due: 200, free: 25, now: 1250, out _);

        // The call took 10,000 ticks. The next one was due before the caller woke up, the others after.
        Assert.Equal(400 + 1050, delay.StartOf(due: 400, free: 11_250, now: 11_250, out bool isLate));
        Assert.True(isLate);
        Assert.Equal(1400, delay.StartOf(due: 1400, free: 11_275, now: 11_275, out isLate));
        Assert.True(isLate);
    }

    [Fact]
    public static void The_first_call_of_a_caller_counts_from_when_it_is_sent()
    {
        CallerDelay delay = new();

        Assert.Equal(700, delay.StartOf(due: 100, free: 600, now: 700, out bool isLate));
        Assert.False(isLate);
    }
}
