namespace ProtoRpc.Server;

/// <summary>Counts the calls of a server of either layer.</summary>
internal sealed class CallMonitor
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
}
