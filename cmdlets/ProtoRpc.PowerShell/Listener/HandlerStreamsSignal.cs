namespace ProtoRpc.PowerShell.Listener;

/// <summary>Wakes a waiting cmdlet when handlers of some listeners wrote a record,
/// or a listener stopped.</summary>
internal sealed class HandlerStreamsSignal : IDisposable
{
    private readonly ManualResetEventSlim _event = new(false);
    private readonly IReadOnlyList<RpcListener> _listeners;
    private readonly CancellationToken _cancellation;

    public HandlerStreamsSignal(IEnumerable<RpcListener> listeners, CancellationToken cancellation)
    {
        _listeners = [.. listeners];
        _cancellation = cancellation;
        foreach (RpcListener listener in _listeners)
        {
            listener.Streams.Added += _event.Set;
            listener.Completion.ContinueWith(_ => _event.Set(), TaskScheduler.Default);
        }
    }

    /// <summary>False when the time is over or the wait was cancelled.</summary>
    public bool Wait(TimeSpan timeout)
    {
        try
        {
            bool set = _event.Wait(timeout, _cancellation);
            _event.Reset();
            return set;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    // The event itself is left to the collector: a listener may stop later and set it.
    public void Dispose()
    {
        foreach (RpcListener listener in _listeners)
        {
            listener.Streams.Added -= _event.Set;
        }
    }
}
