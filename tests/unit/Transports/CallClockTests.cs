using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

public static class CallClockTests
{
    private static readonly RpcEndpoint Endpoint = RpcEndpoint.Parse("local://clock");
    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);

    [Fact]
    public static void The_earlier_of_timeout_and_deadline_wins()
    {
        DateTimeOffset soon = DateTimeOffset.UtcNow.AddMinutes(1);

        CallClock byDeadline = CallClock.Start(Hour, deadline: soon);
        CallClock byTimeout = CallClock.Start(TimeSpan.FromSeconds(1), deadline: soon);
        CallClock byDeadlineAlone = CallClock.Start(Timeout.InfiniteTimeSpan, deadline: soon);

        Assert.InRange(byDeadline.Left, TimeSpan.FromSeconds(30), TimeSpan.FromMinutes(1));
        Assert.InRange(byTimeout.Left, TimeSpan.Zero, TimeSpan.FromSeconds(1));
        Assert.InRange(byDeadlineAlone.Left, TimeSpan.FromSeconds(30), TimeSpan.FromMinutes(1));
    }

    [Fact]
    public static void Time_without_end_stays_so()
    {
        CallClock clock = CallClock.Start(Timeout.InfiniteTimeSpan);
        CallClock far = CallClock.Start(TimeSpan.MaxValue, deadline: DateTimeOffset.MaxValue);

        Assert.True(clock.IsEndless && far.IsEndless);
        Assert.Equal(Timeout.InfiniteTimeSpan, clock.Left);
        Assert.False(clock.IsOver);
        Assert.Null(clock.Ended(Endpoint, sent: true, isLate: true));
        Assert.Equal(Hour, clock.Within(Hour).Timeout);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-5)]
    public static void Time_that_is_over_is_never_below_zero(int seconds)
    {
        CallClock clock = CallClock.Start(TimeSpan.FromSeconds(seconds));

        Assert.True(clock.IsOver);
        Assert.Equal(TimeSpan.Zero, clock.Left);
        Assert.True(clock.Within(Hour).Timeout > TimeSpan.Zero);
    }

    [Fact]
    public static void The_whole_time_again_ends_at_the_deadline_all_the_same()
    {
        CallClock again = CallClock.Start(Hour, deadline: DateTimeOffset.UtcNow.AddMilliseconds(50)).Again();

        Assert.True(SpinWait.SpinUntil(() => again.IsOver, ClientCalls.Patience));
        Assert.True(again.Again().IsOver);
    }

    [Fact]
    public static void The_caller_comes_before_the_time()
    {
        CallClock clock = CallClock.Start(TimeSpan.Zero, new CancellationToken(canceled: true));

        RpcException ended = clock.Ended(Endpoint, sent: true)!;

        Assert.Equal(RpcStatusCode.Cancelled, ended.Code);
        Assert.True(ended.MayHaveExecuted);
    }

    [Theory]
    [InlineData(true, "; the call may have run there.")]
    [InlineData(false, "; the call did not run.")]
    public static void What_is_said_agrees_with_whether_it_may_have_run(bool sent, string wanted)
    {
        RpcException ended = CallClock.Start(TimeSpan.Zero).Ended(Endpoint, sent)!;

        Assert.Equal(RpcStatusCode.DeadlineExceeded, ended.Code);
        Assert.Equal(sent, ended.MayHaveExecuted);
        Assert.Contains(wanted, ended.Message, StringComparison.Ordinal);
    }
}
