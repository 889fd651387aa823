namespace ProtoRpc.Server.Native;

/// <summary>Counts the calls of an interface that run, and lets in no more than it may have.</summary>
internal sealed class CallGate
{
    private int _calls;

    /// <summary>Counts one more, unless there are as many as there may be.</summary>
    public bool TryEnter(int? max)
    {
        if (Interlocked.Increment(ref _calls) <= max.GetValueOrDefault(int.MaxValue))
        {
            return true;
        }

        Leave();
        return false;
    }

    /// <summary>Counts one less.</summary>
    public void Leave() => Interlocked.Decrement(ref _calls);
}
