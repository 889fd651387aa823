using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Retries calls that the server cannot have received or has rejected before they ran, because it
/// does not serve now or is too busy, on every transport.</summary>
/// <param name="endpoint">The endpoint, for errors.</param>
/// <param name="retries">The number of retries; 0 for none.</param>
/// <param name="waits">Whether to retry an unreachable server until the time is over.</param>
/// <param name="clock">The time for all attempts, including pauses.</param>
/// <param name="info">Counts the retries; null for none.</param>
internal sealed class CallRetries(
    RpcEndpoint endpoint, int retries, bool waits, CallClock clock, RpcResponseInfo? info = null)
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    // Shorter pauses, because the caller waits for the server to start.
    private static readonly TimeSpan LongestPauseOfWaiting = TimeSpan.FromSeconds(1);

    // The longest pause that a busy server can ask for. If it asks for more, the call fails.
    private static readonly TimeSpan LongestPauseOfBusy = TimeSpan.FromMinutes(1);

    // A retry is only made if at least this much time is left.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(10);

    private TimeSpan _pause = waits ? FirstPause / 2 : FirstPause;
    private RpcException? _last;
    private int _made;
    private int _failed;

    /// <summary>Logs each attempt that is followed by another one; null for none.</summary>
    public ClientLog? Log { get; init; }

    /// <summary>The called method; null while connecting.</summary>
    public string? Method { get; init; }

    /// <summary>Runs a call, and retries it with growing pauses, within the number of retries and the
    /// time.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public TReply Run<TReply>(Func<TReply> call) => BlockingWait.End(
        RunAsync<BlockingWait, TReply>(() => ValueTask.FromResult(call())));

    /// <summary>Runs a call like <see cref="Run"/>, without blocking a thread.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public Task<TReply> RunAsync<TReply>(Func<Task<TReply>> call) =>
        RunAsync<AsyncWait, TReply>(() => new ValueTask<TReply>(call())).AsTask();

    /// <summary>Blocks until the next attempt.</summary>
    /// <exception cref="RpcException">There is no further attempt: the failure.</exception>
    public void Wait(RpcException failure) => BlockingWait.End(WaitAsync<BlockingWait>(failure));

    /// <summary>Waits for the next try.</summary>
    /// <exception cref="RpcException">There is no further attempt: the failure.</exception>
    public ValueTask WaitAsync(RpcException failure) => WaitAsync<AsyncWait>(failure);

    private async ValueTask<TReply> RunAsync<TWait, TReply>(Func<ValueTask<TReply>> call)
        where TWait : struct, IWaitMode
    {
        while (true)
        {
            try
            {
                return await call().ConfigureAwait(false);
            }
            catch (RpcException e)
            {
                await WaitAsync<TWait>(e).ConfigureAwait(false);
            }
        }
    }

    private async ValueTask WaitAsync<TWait>(RpcException failure)
        where TWait : struct, IWaitMode
    {
        try
        {
            await TWait.PauseAsync(NextPause(failure), clock.Caller).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw CallErrors.Cancelled(endpoint, sent: false);
        }
    }

    private TimeSpan NextPause(RpcException failure)
    {
        bool isAwaited = waits && CallErrors.IsAbsent(failure);
        TimeSpan left = clock.Left;
        if (!(CallErrors.IsUnreached(failure) || CallErrors.IsBusy(failure))
            || IsTooLate(failure.RetryAfter, left)
            || (!isAwaited && _made >= retries)
            || (!clock.IsEndless && left < LeastTime))
        {
            Fail(failure);
        }

        // The caller cancelled during the pause before another attempt.
        if (clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.Cancelled(endpoint, sent: false);
        }

        _last = failure;
        if (info is not null)
        {
            info.Retries++;
        }

        _made += isAwaited ? 0 : 1;

        // Jitter, so that clients that failed at the same time do not all retry at the same time.
        TimeSpan pause = _pause * (0.5 + Random.Shared.NextDouble());
        TimeSpan longest = waits ? LongestPauseOfWaiting : LongestPause;
        _pause = _pause * 2 < longest ? _pause * 2 : longest;
        pause = clock.IsEndless || pause <= left / 2 ? pause : left / 2;
        pause = failure.RetryAfter is { } least && pause < least ? least + (pause / 2) : pause;
        Log?.Retry(Method, endpoint, ++_failed, failure, pause);
        return pause;
    }

    private bool IsTooLate(TimeSpan? retryAfter, TimeSpan left) =>
        retryAfter > LongestPauseOfBusy || (!clock.IsEndless && retryAfter > left - LeastTime);

    // The last attempt had only a part of the time, so its timeout says less than the earlier failures.
    [DoesNotReturn]
    private void Fail(RpcException failure)
    {
        bool isLate = !failure.MayHaveExecuted && (failure.Code == RpcStatusCode.DeadlineExceeded
            || (waits && CallErrors.IsAbsent(failure)));
        if (isLate && (waits || _last is not null) && !clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.NotReached(endpoint, clock.Timeout, _last ?? failure);
        }

        ExceptionDispatchInfo.Throw(failure);
    }
}
