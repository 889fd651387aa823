using Microsoft.Extensions.Logging;

namespace ProtoRpc.Server;

/// <summary>Counts the calls of a server of either layer, and logs those that fail.</summary>
/// <param name="logger">Null for no log.</param>
internal sealed class CallMonitor(ILogger? logger = null)
{
    private long _ended;
    private long _failed;
    private int _running;

    /// <summary>Calls that ended, failed ones included.</summary>
    public long Ended => Volatile.Read(ref _ended);

    public long Failed => Volatile.Read(ref _failed);

    public int Running => Volatile.Read(ref _running);

    /// <summary>Marks the begin of a call.</summary>
    public void Begin() => Interlocked.Increment(ref _running);

    /// <summary>Marks the end of a call that began.</summary>
    /// <param name="status">How it ended.</param>
    public void End(RpcStatusCode status)
    {
        Interlocked.Increment(ref _ended);
        if (status != RpcStatusCode.OK)
        {
            Interlocked.Increment(ref _failed);
        }

        Interlocked.Decrement(ref _running);
    }

    /// <summary>Logs a call that failed. What the logger throws is ignored: the caller gets the
    /// answer.</summary>
    /// <param name="method">What was called; null where that could not be read.</param>
    /// <param name="endpoint">Where; null where that is not known.</param>
    /// <param name="failure">How it failed.</param>
    public void Log(string? method, RpcEndpoint? endpoint, CallFailure failure)
    {
        if (logger is null)
        {
            return;
        }

        try
        {
            string what = method ?? "A call";
            string where = endpoint?.ToString() ?? "its endpoint";
            if (failure.IsForCaller)
            {
                CallLog.Refusal(logger, what, where, failure.Code, failure.Text);
            }
            else
            {
                CallLog.Failure(logger, what, where, failure.Code, failure.CorrelationId, failure.Error);
            }
        }
        catch (Exception)
        {
        }
    }
}
