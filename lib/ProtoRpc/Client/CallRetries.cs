using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Says when a call that the server surely did not take is made again, on every transport.</summary>
/// <param name="endpoint">For errors.</param>
/// <param name="retries">How often; 0 for never.</param>
/// <param name="waits">Whether a server that is not there is tried again until the time is over.</param>
/// <param name="timeout">The time for all tries.</param>
/// <param name="cancellation">Ends the pauses as well.</param>
internal sealed class CallRetries(
    RpcEndpoint endpoint, int retries, bool waits, TimeSpan timeout, CancellationToken cancellation)
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    // Who waits for a server wants to know soon that it came.
    private static readonly TimeSpan LongestPauseOfWaiting = TimeSpan.FromSeconds(1);

    // The time that a last try is worth making in.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(10);

    private readonly long _start = Stopwatch.GetTimestamp();
    private TimeSpan _pause = waits ? FirstPause / 2 : FirstPause;
    private RpcException? _last;
    private int _made;

    /// <summary>Runs a call, and again after a pause that grows,
    /// as often as asked and within its time.</summary>
    /// <param name="call">The call, in the time that is left.</param>
    /// <exception cref="RpcException">The failure that is not followed by another try.</exception>
    public TReply Run<TReply>(Func<TimeSpan, TReply> call)
    {
        TimeSpan left = timeout;
        while (true)
        {
            try
            {
                return call(left);
            }
            catch (RpcException e)
            {
                left = Wait(e);
            }
        }
    }

    /// <summary>The same without holding a thread.</summary>
    /// <param name="call">The call, in the time that is left.</param>
    /// <exception cref="RpcException">The failure that is not followed by another try.</exception>
    public async Task<TReply> RunAsync<TReply>(Func<TimeSpan, Task<TReply>> call)
    {
        TimeSpan left = timeout;
        while (true)
        {
            try
            {
                return await call(left).ConfigureAwait(false);
            }
            catch (RpcException e)
            {
                left = await WaitAsync(e).ConfigureAwait(false);
            }
        }
    }

    /// <summary>Waits for the next try, holding the thread.</summary>
    /// <returns>The time that is left for it.</returns>
    /// <exception cref="RpcException">There is no further try: the failure.</exception>
    public TimeSpan Wait(RpcException failure)
    {
        TimeSpan pause = NextPause(failure);
        return cancellation.WaitHandle.WaitOne(pause)
            ? throw CallErrors.Cancelled(endpoint, sent: false)
            : Left();
    }

    /// <summary>Waits for the next try.</summary>
    /// <returns>The time that is left for it.</returns>
    /// <exception cref="RpcException">There is no further try: the failure.</exception>
    public async ValueTask<TimeSpan> WaitAsync(RpcException failure)
    {
        TimeSpan pause = NextPause(failure);
        try
        {
            await Task.Delay(pause, cancellation).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw CallErrors.Cancelled(endpoint, sent: false);
        }

        return Left();
    }

    private TimeSpan NextPause(RpcException failure)
    {
        bool isAwaited = waits && CallErrors.IsAbsent(failure);
        TimeSpan left = Left();
        if (!CallErrors.IsUnreached(failure)
            || cancellation.IsCancellationRequested
            || (!isAwaited && _made >= retries)
            || (timeout != Timeout.InfiniteTimeSpan && left < LeastTime))
        {
            Fail(failure);
        }

        _last = failure;
        _made += isAwaited ? 0 : 1;

        // So that clients that failed together do not come back together.
        TimeSpan pause = _pause * (0.5 + Random.Shared.NextDouble());
        TimeSpan longest = waits ? LongestPauseOfWaiting : LongestPause;
        _pause = _pause * 2 < longest ? _pause * 2 : longest;
        return timeout == Timeout.InfiniteTimeSpan || pause <= left / 2 ? pause : left / 2;
    }

    private TimeSpan Left() => timeout == Timeout.InfiniteTimeSpan
        ? timeout
        : timeout - Stopwatch.GetElapsedTime(_start) is { Ticks: > 0 } left ? left : TimeSpan.FromTicks(1);

    // The last try has but a part of the time, and so says less than the tries before it.
    [DoesNotReturn]
    private void Fail(RpcException failure)
    {
        bool isLate = !failure.MayHaveExecuted && (failure.Code == RpcStatusCode.DeadlineExceeded
            || (waits && CallErrors.IsAbsent(failure)));
        if (isLate && (waits || _last is not null) && !cancellation.IsCancellationRequested)
        {
            throw CallErrors.NotReached(endpoint, timeout, _last ?? failure);
        }

        ExceptionDispatchInfo.Throw(failure);
    }
}
