using ProtoRpc.Client.Retries;

namespace ProtoRpc.Tests.Client;

/// <summary>Which failed attempts are followed by another one, and after which pause: without a clock, and
/// with chosen random numbers.</summary>
public static class RetryRulesTests
{
    private static readonly TimeSpan Endless = Timeout.InfiniteTimeSpan;
    private static readonly TimeSpan NoRetry = TimeSpan.FromMilliseconds(-1);

    [Fact]
    public static void A_call_that_did_not_run_is_retried_and_one_that_may_have_run_is_not()
    {
        RetryRules rules = Rules();

        Assert.True(rules.Covers(Unreached()));
        Assert.True(rules.Covers(Busy(TimeSpan.Zero)));
        Assert.False(rules.Covers(Answered(RpcStatusCode.Unavailable)));
        Assert.False(rules.Covers(Answered(RpcStatusCode.Unavailable, TimeSpan.Zero)));
        Assert.False(rules.Covers(Lost()));
    }

    [Fact]
    public static void A_named_status_is_retried_although_the_call_may_have_run()
    {
        RetryRules rules = Rules(new() { StatusCodes = [RpcStatusCode.Unavailable, RpcStatusCode.Aborted] });

        Assert.True(rules.Covers(Answered(RpcStatusCode.Unavailable)));
        Assert.True(rules.Covers(Answered(RpcStatusCode.Aborted)));
        Assert.True(rules.Covers(Lost()));
        Assert.False(rules.Covers(Answered(RpcStatusCode.Internal)));
    }

    [Fact]
    public static void An_error_of_the_client_itself_is_not_retried_although_its_status_is_named()
    {
        RetryRules rules = Rules(new() { StatusCodes = [RpcStatusCode.ResourceExhausted] });

        Assert.False(rules.Covers(new RpcException(RpcStatusCode.ResourceExhausted, "too large")));
        Assert.True(rules.Covers(Answered(RpcStatusCode.ResourceExhausted)));
    }

    [Fact]
    public static void An_idempotent_call_is_retried_if_the_server_says_when()
    {
        RetryRules rules = Rules(isIdempotent: true);

        Assert.True(rules.Covers(Answered(RpcStatusCode.Unavailable, TimeSpan.FromSeconds(1))));
        Assert.False(rules.Covers(Answered(RpcStatusCode.Unavailable)));
        Assert.False(rules.Covers(Lost()));
    }

    [Fact]
    public static void A_server_that_asks_for_no_retry_is_obeyed()
    {
        RetryRules rules = Rules(new() { StatusCodes = [RpcStatusCode.Unavailable] }, isIdempotent: true);
        RetryBudget budget = RetryBudget.Create(new() { MaxTokens = 2 })!;

        RetryDecision decision = rules.Decide(
            Answered(RpcStatusCode.Unavailable, NoRetry), made: 0, pauses: 0, Endless, waits: false, budget);

        Assert.Null(decision.Pause);
        Assert.Equal("the server asks for no retry", decision.Reason);
        Assert.True(budget.IsLow);
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(2, true)]
    [InlineData(3, false)]
    public static void As_many_retries_are_made_as_the_policy_says(int made, bool goesOn) => Assert.Equal(
        goesOn,
        Rules(new() { Count = 3 }).Decide(Unreached(), made, made, Endless, false, null).Pause is not null);

    [Theory]
    [InlineData(0.5, 0, 100)]
    [InlineData(0, 0, 80)]
    [InlineData(1, 0, 120)]
    [InlineData(0.5, 1, 300)]
    [InlineData(0.5, 2, 900)]
    [InlineData(0.5, 3, 2000)]
    [InlineData(1, 3, 2400)]
    [InlineData(0.5, int.MaxValue, 2000)]
    public static void Pauses_grow_up_to_the_longest_and_vary_by_a_fifth(
        double random, int pauses, double milliseconds)
    {
        RetryRules rules = Rules(
            new() { Multiplier = 3, MaxPause = TimeSpan.FromSeconds(2) }, random: random);

        RetryDecision decision = rules.Decide(Unreached(), 0, pauses, Endless, false, null);

        Assert.Equal(milliseconds, decision.Pause!.Value.TotalMilliseconds, tolerance: 0.001);
    }

    [Fact]
    public static void Without_pauses_the_policy_retries_immediately() => Assert.Equal(
        TimeSpan.Zero,
        Rules(new() { InitialPause = TimeSpan.Zero }).Decide(Unreached(), 0, 5, Endless, false, null).Pause);

    [Theory]
    [InlineData(0, 500)]
    [InlineData(1, 600)]
    public static void The_pause_of_a_server_is_kept_and_never_shorter(double random, double milliseconds)
    {
        RetryRules rules = Rules(
            new() { InitialPause = TimeSpan.FromMinutes(1), MaxPause = TimeSpan.FromHours(1) },
            isIdempotent: true, random);

        RetryDecision decision = rules.Decide(
            Answered(RpcStatusCode.Unavailable, TimeSpan.FromSeconds(0.5)), 0, 0, Endless, false, null);

        Assert.Equal(milliseconds, decision.Pause!.Value.TotalMilliseconds, tolerance: 0.001);
    }

    [Fact]
    public static void A_busy_server_gets_longer_pauses_than_it_asks_for_after_several_rejections()
    {
        RetryRules rules = Rules(random: 0.5);
        RpcException busy = Busy(TimeSpan.FromSeconds(1));

        Assert.Equal(
            TimeSpan.FromSeconds(1.05), rules.Decide(busy, 0, 0, Endless, false, null).Pause);
        Assert.Equal(
            TimeSpan.FromSeconds(3.2), rules.Decide(busy, 0, 5, Endless, false, null).Pause);
    }

    [Theory]
    [InlineData(61, -1)]
    [InlineData(61, 3600)]
    [InlineData(10, 10)]
    [InlineData(1e9, 3600)]
    public static void A_pause_that_is_too_long_ends_the_call_at_once(double asked, double left)
    {
        TimeSpan time = left < 0 ? Endless : TimeSpan.FromSeconds(left);
        TimeSpan pause = TimeSpan.FromSeconds(asked);
        RetryRules rules = Rules(isIdempotent: true);

        foreach (RpcException failure in new[] { Answered(RpcStatusCode.Unavailable, pause), Busy(pause) })
        {
            RetryDecision decision = rules.Decide(failure, 0, 0, time, false, null);

            Assert.Null(decision.Pause);
            Assert.Contains("asks for a pause of", decision.Reason, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(0.009)]
    public static void Without_time_there_is_no_retry(double left) => Assert.Null(
        Rules().Decide(Unreached(), 0, 0, TimeSpan.FromSeconds(left), false, null).Pause);

    [Fact]
    public static void A_pause_never_reaches_the_deadline()
    {
        TimeSpan left = TimeSpan.FromSeconds(1.02);
        RetryRules rules = Rules(isIdempotent: true, random: 1);
        foreach (RpcException failure in new[]
        {
            Answered(RpcStatusCode.Unavailable, TimeSpan.FromSeconds(1)), Busy(TimeSpan.FromSeconds(1)),
            Unreached(),
        })
        {
            Assert.InRange(
                rules.Decide(failure, 0, 9, left, false, null).Pause!.Value,
                TimeSpan.FromMilliseconds(1), left - TimeSpan.FromMilliseconds(10));
        }
    }

    [Fact]
    public static void Waiting_for_a_server_needs_no_retries_and_no_budget()
    {
        RetryBudget budget = RetryBudget.Create(new() { MaxTokens = 1 })!;
        RetryRules rules = Rules(new() { Count = 0 });
        for (int i = 0; i < 10; i++)
        {
            RetryDecision decision = rules.Decide(Unreached(), 0, i, Endless, waits: true, budget);

            Assert.True(decision.IsAwaited);
            Assert.InRange(decision.Pause!.Value, TimeSpan.FromMilliseconds(40), TimeSpan.FromSeconds(1.2));
        }

        Assert.False(budget.IsLow);
    }

    [Fact]
    public static void A_budget_that_is_used_up_stops_retries_until_calls_succeed()
    {
        RetryBudget budget = RetryBudget.Create(new() { MaxTokens = 4, TokenRatio = 0.5 })!;
        RetryRules rules = Rules(new() { Count = 100 });

        Assert.NotNull(rules.Decide(Unreached(), 0, 0, Endless, false, budget).Pause);
        RetryDecision stopped = rules.Decide(Unreached(), 1, 1, Endless, false, budget);
        Assert.Null(stopped.Pause);
        Assert.Contains("budget", stopped.Reason, StringComparison.Ordinal);

        // 2 of 4 tokens are left, and each call that succeeds adds a half.
        budget.Succeed();
        Assert.Null(rules.Decide(Unreached(), 0, 0, Endless, false, budget).Pause);
        for (int i = 0; i < 4; i++)
        {
            budget.Succeed();
        }

        Assert.NotNull(rules.Decide(Unreached(), 0, 0, Endless, false, budget).Pause);
    }

    [Fact]
    public static void Failures_that_are_not_retried_take_nothing_from_the_budget()
    {
        RetryBudget budget = RetryBudget.Create(new() { MaxTokens = 1 })!;

        Rules().Decide(Answered(RpcStatusCode.InvalidArgument), 0, 0, Endless, false, budget);

        Assert.False(budget.IsLow);
    }

    [Fact]
    public static void A_budget_is_neither_below_nothing_nor_above_its_size()
    {
        RetryBudget budget = RetryBudget.Create(new() { MaxTokens = 2, TokenRatio = 1 })!;
        Parallel.For(0, 1000, _ => budget.Fail());
        budget.Succeed();
        Assert.True(budget.IsLow);
        budget.Succeed();
        Assert.False(budget.IsLow);
        Parallel.For(0, 1000, _ => budget.Succeed());
        budget.Fail();
        Assert.True(budget.IsLow);
    }

    [Fact]
    public static void No_tokens_are_no_budget() => Assert.Null(RetryBudget.Create(new() { MaxTokens = 0 }));

    [Fact]
    public static void Waiting_without_pauses_still_pauses()
    {
        RetryRules rules = Rules(new() { InitialPause = TimeSpan.Zero, MaxPause = TimeSpan.Zero });
        TimeSpan left = TimeSpan.FromMilliseconds(30);

        RetryDecision endless = rules.Decide(Unreached(), 0, 5, Endless, waits: true, null);
        RetryDecision late = rules.Decide(Unreached(), 0, 5, left, waits: true, null);
        RetryDecision retried = rules.Decide(
            Answered(RpcStatusCode.Aborted), 0, 5, Endless, waits: true, null);

        Assert.Equal(TimeSpan.FromMilliseconds(25), endless.Pause);
        Assert.Equal(left / 2, late.Pause);
        Assert.Null(retried.Pause);
    }

    [Fact]
    public static void A_failure_behind_a_reply_is_never_repeated()
    {
        RetryRules rules = Rules(
            new() { StatusCodes = [RpcStatusCode.Unavailable], Idempotent = true }, isIdempotent: true);

        Assert.True(rules.Covers(new(RpcStatusCode.Unavailable, "no") { MayHaveExecuted = true }));
        Assert.False(rules.Covers(
            new(RpcStatusCode.Unavailable, "no") { MayHaveExecuted = true, HasReplies = true }));
    }

    [Fact]
    public static void A_native_fault_is_repeated_if_its_status_is_named()
    {
        RetryRules rules = Rules(new() { StatusCodes = [RpcStatusCode.Internal] });

        Assert.True(rules.Covers(
            new(RpcStatusCode.Internal, "E_FAIL") { MayHaveExecuted = true, NativeStatus = 0x80004005 }));
        Assert.False(rules.Covers(new(RpcStatusCode.Internal, "of the client") { MayHaveExecuted = true }));
    }

    private static RetryRules Rules(
        RpcRetryPolicy? policy = null, bool isIdempotent = false, double random = 0.5) =>
        new(policy ?? new(), isIdempotent, () => random);

    private static RpcException Unreached() => new(RpcStatusCode.Unavailable, "no server");

    private static RpcException Lost() => new(RpcStatusCode.Unavailable, "lost") { MayHaveExecuted = true };

    private static RpcException Busy(TimeSpan pause) =>
        new(RpcStatusCode.ResourceExhausted, "busy") { IsAnswer = true, RetryAfter = pause };

    private static RpcException Answered(RpcStatusCode code, TimeSpan? pushback = null) =>
        new(code, "no") { IsAnswer = true, MayHaveExecuted = true, Pushback = pushback };
}
