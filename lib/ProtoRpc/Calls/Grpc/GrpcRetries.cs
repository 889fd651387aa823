using System.Diagnostics;

namespace ProtoRpc.Calls.Grpc;

/// <summary>Makes calls again that the server surely did not take.</summary>
internal static class GrpcRetries
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    /// <summary>Runs a call, and again after a pause that grows, as often as asked and within its time.</summary>
    /// <param name="retries">How often again; 0 for never.</param>
    /// <param name="timeout">The time for all tries.</param>
    /// <param name="call">The call, in the time that is left.</param>
    /// <param name="cancellation">Ends the pauses as well.</param>
    public static async Task<TReply> RunAsync<TReply>(
        int retries, TimeSpan timeout, Func<TimeSpan, Task<TReply>> call, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        TimeSpan pause = FirstPause;
        TimeSpan left = timeout;
        for (int again = 0; ; again++)
        {
            try
            {
                return await call(left).ConfigureAwait(false);
            }
            catch (RpcException e) when (
                again < retries && e is { Code: RpcStatusCode.Unavailable, MayHaveExecuted: false }
                && !cancellation.IsCancellationRequested)
            {
                // So that clients that failed together do not come back together.
                TimeSpan wait = pause * (0.5 + Random.Shared.NextDouble());
                left = timeout == Timeout.InfiniteTimeSpan ? timeout : timeout - Stopwatch.GetElapsedTime(start) - wait;
                if (timeout != Timeout.InfiniteTimeSpan && left <= TimeSpan.Zero)
                {
                    throw;
                }

                try
                {
                    await Task.Delay(wait, cancellation).ConfigureAwait(false);
                }
                catch (OperationCanceledException)
                {
                    throw e;
                }

                pause = pause * 2 < LongestPause ? pause * 2 : LongestPause;
            }
        }
    }
}
