namespace ProtoRpc.Client.Retries;

/// <summary>Decides which failed attempts are followed by another one, and after which pause. Has no clock
/// and waits for nothing.</summary>
/// <param name="Policy">The policy of the call.</param>
/// <param name="IsIdempotent">Whether the call can run twice with the same result.</param>
/// <param name="Random">Returns numbers from 0 to 1 for the jitter.</param>
internal sealed record RetryRules(RpcRetryPolicy Policy, bool IsIdempotent, Func<double> Random)
{
    // While a caller waits for the server to start, longer pauses would delay the call after the start.
    private static readonly TimeSpan LongestPauseOfWaiting = TimeSpan.FromSeconds(1);

    // A minimum, because the policy's pauses can be zero.
    private static readonly TimeSpan LeastPauseOfWaiting = TimeSpan.FromMilliseconds(25);

    // A retry is only made if at least this much time is left.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(10);

    /// <summary>Whether a call surely did not reach its server, so that it can be made again,
    /// there or elsewhere.</summary>
    public static bool IsUnreached(RpcException e) => !e.MayHaveExecuted && !IsBusy(e)
        && (e.Code == RpcStatusCode.Unavailable || e.ErrorId == RpcErrorIds.ConnectTimeout);

    /// <summary>Whether a server or a proxy was too busy and rejected the call before it ran. The call can be
    /// made again after a pause; at another server without one, it would only move the overload.</summary>
    public static bool IsBusy(RpcException e) => !e.MayHaveExecuted && e.RetryAfter is not null;

    /// <summary>Whether no server was reachable. A reachable server that cannot be used, because
    /// of its protocol or its certificate, is not absent: waiting for it does not help.</summary>
    public static bool IsAbsent(RpcException e) => IsUnreached(e)
        && (e.ErrorId is RpcErrorIds.ConnectTimeout or RpcErrorIds.NoServerReached
        or RpcErrorIds.ConnectionLost
            || e.ErrorId == RpcErrorIds.OfStatus(RpcStatusCode.Unavailable));

    /// <summary>Whether a failed attempt may be followed by another one.</summary>
    public bool Covers(RpcException failure) => !IsForbidden(failure) && IsRepeatable(failure);

    /// <summary>Decides what follows a failed attempt.</summary>
    /// <param name="failure">The failure.</param>
    /// <param name="made">The number of retries so far.</param>
    /// <param name="pauses">The number of pauses of this policy since the call began, or since the last pause
    /// that the server asked for.</param>
    /// <param name="left">The time that is left for the call; InfiniteTimeSpan for no limit.</param>
    /// <param name="waits">Whether the call waits for an unreachable server until its time is over.</param>
    /// <param name="budget">The retry budget of the client; null for none.</param>
    public RetryDecision Decide(
        RpcException failure, int made, int pauses, TimeSpan left, bool waits, RetryBudget? budget)
    {
        bool isForbidden = IsForbidden(failure);
        if (!isForbidden && !IsRepeatable(failure))
        {
            return RetryDecision.End();
        }

        bool isAwaited = waits && IsAbsent(failure);
        if (!isAwaited)
        {
            budget?.Fail();
        }

        bool isEndless = left == Timeout.InfiniteTimeSpan;
        if (isForbidden)
        {
            return RetryDecision.End("the server asks for no retry");
        }

        if ((!isAwaited && made >= Policy.Count) || (!isEndless && left < LeastTime))
        {
            return RetryDecision.End();
        }

        if ((failure.RetryAfter ?? failure.Pushback) is { } asked
            && (asked > Policy.MaxServerPause || (!isEndless && asked > left - LeastTime)))
        {
            return RetryDecision.End(string.Create(
                CultureInfo.InvariantCulture,
                $"the server asks for a pause of {asked.TotalSeconds:0.###} s, which is too long"));
        }

        if (!isAwaited && budget is { IsLow: true })
        {
            return RetryDecision.End("too many calls of this client failed, and its retry budget is used up");
        }

        TimeSpan pause = PauseOf(failure, pauses, left, waits);
        if (isAwaited && pause < LeastPauseOfWaiting)
        {
            pause = isEndless || left / 2 > LeastPauseOfWaiting ? LeastPauseOfWaiting : left / 2;
        }

        return RetryDecision.After(pause, isAwaited);
    }

    // The policy cannot override a server that asks for no retry.
    private static bool IsForbidden(RpcException e) => e.Pushback < TimeSpan.Zero;

    private bool IsRepeatable(RpcException e) =>
        IsUnreached(e) || IsBusy(e)
        || (!e.HasReplies && (IsNamed(e) || (IsIdempotent && e.Pushback is not null)));

    // Errors that this client raises, such as a request over the limit, would occur again.
    private bool IsNamed(RpcException e) => Policy.StatusCodes.Contains(e.Code)
        && (e.IsAnswer || (e.NativeStatus != 0 && e.MayHaveExecuted)
            || e.Code == RpcStatusCode.Unavailable
            || e.ErrorId == RpcErrorIds.NotGrpc);

    private TimeSpan PauseOf(RpcException failure, int pauses, TimeSpan left, bool waits)
    {
        TimeSpan own = OwnPause(pauses, waits);
        if (left != Timeout.InfiniteTimeSpan && own > left / 2)
        {
            own = left / 2;
        }

        // A busy server gets longer pauses after each rejection. Other pauses of servers are kept exactly,
        // except for the jitter.
        TimeSpan pause = failure.RetryAfter is { } least ? own < least ? least + (own / 2) : own
            : failure.Pushback is { } exact ? exact * (1 + (Policy.Jitter * Random()))
            : own;
        return left != Timeout.InfiniteTimeSpan && pause > left - LeastTime ? left - LeastTime : pause;
    }

    private TimeSpan OwnPause(int pauses, bool waits)
    {
        TimeSpan first = waits ? Policy.InitialPause / 2 : Policy.InitialPause;
        TimeSpan longest = waits && Policy.MaxPause > LongestPauseOfWaiting
            ? LongestPauseOfWaiting
            : Policy.MaxPause;
        double seconds = Math.Min(
            first.TotalSeconds * Math.Pow(Policy.Multiplier, Math.Min(pauses, 100)), longest.TotalSeconds);
        return TimeSpan.FromSeconds(seconds * (1 - Policy.Jitter + (2 * Policy.Jitter * Random())));
    }
}

/// <summary>The decision after a failed attempt: to try again, or to end.</summary>
/// <param name="Pause">The pause before the next attempt; null if there is none.</param>
/// <param name="IsAwaited">Whether the next attempt waits for an unreachable server, and does not count as a
/// retry.</param>
/// <param name="Reason">Why there is no further attempt, if that is not obvious; otherwise null.</param>
internal readonly record struct RetryDecision(TimeSpan? Pause, bool IsAwaited, string? Reason)
{
    public static RetryDecision End(string? reason = null) => new(null, false, reason);

    public static RetryDecision After(TimeSpan pause, bool isAwaited) => new(pause, isAwaited, null);
}

/// <summary>The retry budget of a client: a bucket of tokens that failures take and successes fill (gRFC A6,
/// retryThrottling). If many calls fail, it stops the retries, so that they do not keep an overloaded server
/// down.</summary>
/// <remarks>Thread-safe. Counts thousandths of tokens.</remarks>
internal sealed class RetryBudget
{
    private const int Token = 1000;

    private readonly int _most;
    private readonly int _refill;
    private int _left;

    private RetryBudget(int most, int refill)
    {
        _most = most;
        _refill = refill;
        _left = most;
    }

    /// <summary>Whether at most half of the tokens are left, so that no call is retried.</summary>
    public bool IsLow => Volatile.Read(ref _left) <= _most / 2;

    /// <summary>Creates the budget of a policy.</summary>
    /// <returns>Null if the policy has none.</returns>
    public static RetryBudget? Create(RpcRetryPolicy policy) => policy.MaxTokens == 0
        ? null
        : new(policy.MaxTokens * Token, (int)(policy.TokenRatio * Token));

    /// <summary>Counts a call that succeeded.</summary>
    public void Succeed() => Add(_refill);

    /// <summary>Counts an attempt that failed.</summary>
    public void Fail() => Add(-Token);

    private void Add(int amount)
    {
        int before = Volatile.Read(ref _left);
        while (true)
        {
            int after = Math.Clamp(before + amount, 0, _most);
            if (after == before)
            {
                return;
            }

            int seen = Interlocked.CompareExchange(ref _left, after, before);
            if (seen == before)
            {
                return;
            }

            before = seen;
        }
    }
}
