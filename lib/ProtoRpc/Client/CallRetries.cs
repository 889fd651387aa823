using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Says when a call that the server surely did not take is made again, on every transport.</summary>
/// <param name="endpoint">For errors.</param>
/// <param name="retries">How often; 0 for never.</param>
/// <param name="waits">Whether a server that is not there is tried again until the time is over.</param>
/// <param name="clock">The time for all tries, pauses included.</param>
/// <param name="info">Counts the retries; null for none.</param>
internal sealed class CallRetries(
    RpcEndpoint endpoint, int retries, bool waits, CallClock clock, RpcResponseInfo? info = null)
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    // A caller that waits for a server needs short pauses.
    private static readonly TimeSpan LongestPauseOfWaiting = TimeSpan.FromSeconds(1);

    // The time that a last try is worth making in.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(10);

    private TimeSpan _pause = waits ? FirstPause / 2 : FirstPause;
    private RpcException? _last;
    private int _made;
    private int _failed;

    /// <summary>Gets each attempt that is followed by another one; null for none.</summary>
    public ClientLog? Log { get; init; }

    /// <summary>What is called; null while connecting.</summary>
    public string? Method { get; init; }

    /// <summary>Runs a call, and again after a pause that grows,
    /// as often as asked and within its time.</summary>
    /// <exception cref="RpcException">The failure that is not followed by another try.</exception>
    public TReply Run<TReply>(Func<TReply> call) => BlockingWait.End(
        RunAsync<BlockingWait, TReply>(() => ValueTask.FromResult(call())));

    /// <summary>The same without holding a thread.</summary>
    /// <exception cref="RpcException">The failure that is not followed by another try.</exception>
    public Task<TReply> RunAsync<TReply>(Func<Task<TReply>> call) =>
        RunAsync<AsyncWait, TReply>(() => new ValueTask<TReply>(call())).AsTask();

    /// <summary>Waits for the next try, holding the thread.</summary>
    /// <exception cref="RpcException">There is no further try: the failure.</exception>
    public void Wait(RpcException failure) => BlockingWait.End(WaitAsync<BlockingWait>(failure));

    /// <summary>Waits for the next try.</summary>
    /// <exception cref="RpcException">There is no further try: the failure.</exception>
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
        if (!CallErrors.IsUnreached(failure)
            || (!isAwaited && _made >= retries)
            || (!clock.IsEndless && left < LeastTime))
        {
            Fail(failure);
        }

        // There would be another try, but for the caller.
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

        // So that clients that failed together do not come back together.
        TimeSpan pause = _pause * (0.5 + Random.Shared.NextDouble());
        TimeSpan longest = waits ? LongestPauseOfWaiting : LongestPause;
        _pause = _pause * 2 < longest ? _pause * 2 : longest;
        pause = clock.IsEndless || pause <= left / 2 ? pause : left / 2;
        Log?.Retry(Method, endpoint, ++_failed, failure, pause);
        return pause;
    }

    // The last try has but a part of the time, and so says less than the tries before it.
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
