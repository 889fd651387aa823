using System.Diagnostics;
using ProtoRpc.Transports;

namespace ProtoRpc.Calls.Grpc;

/// <summary>Says when a call that the server surely did not take is made again.</summary>
/// <param name="retries">How often; 0 for never.</param>
/// <param name="timeout">The time for all tries.</param>
/// <param name="cancellation">Ends the pauses as well.</param>
internal sealed class GrpcRetries(int retries, TimeSpan timeout, CancellationToken cancellation)
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    private readonly long _start = Stopwatch.GetTimestamp();
    private TimeSpan _pause = FirstPause;
    private int _made;

    /// <summary>Runs a call, and again after a pause that grows,
    /// as often as asked and within its time.</summary>
    /// <param name="call">The call, in the time that is left.</param>
    public async Task<TReply> RunAsync<TReply>(Func<TimeSpan, Task<TReply>> call)
    {
        TimeSpan left = timeout;
        while (true)
        {
            try
            {
                return await call(left).ConfigureAwait(false);
            }
            catch (RpcException e) when (CallErrors.IsUnreached(e) && _made < retries)
            {
                if (await WaitAsync().ConfigureAwait(false) is not { } rest)
                {
                    throw;
                }

                left = rest;
            }
        }
    }

    /// <summary>Waits for the next try.</summary>
    /// <returns>The time that is left for it; null when there is none to be made.</returns>
    public async ValueTask<TimeSpan?> WaitAsync()
    {
        if (_made++ >= retries || cancellation.IsCancellationRequested)
        {
            return null;
        }

        // So that clients that failed together do not come back together.
        TimeSpan wait = _pause * (0.5 + Random.Shared.NextDouble());
        TimeSpan left = timeout == Timeout.InfiniteTimeSpan
            ? timeout
            : timeout - Stopwatch.GetElapsedTime(_start) - wait;
        if (timeout != Timeout.InfiniteTimeSpan && left <= TimeSpan.Zero)
        {
            return null;
        }

        try
        {
            await Task.Delay(wait, cancellation).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            return null;
        }

        _pause = _pause * 2 < LongestPause ? _pause * 2 : LongestPause;
        return left;
    }
}
