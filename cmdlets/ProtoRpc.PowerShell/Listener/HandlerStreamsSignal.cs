namespace ProtoRpc.PowerShell.Listener;

/// <summary>Wakes a waiting cmdlet when a handler writes a record, or when a listener stops.</summary>
internal sealed class HandlerStreamsSignal : IDisposable
{
    private readonly ManualResetEventSlim _event = new(false);
    private readonly IReadOnlyList<RpcListener> _listeners;
    private readonly CancellationToken _cancellation;
    private readonly CancellationTokenSource _disposed = new();

    public HandlerStreamsSignal(IEnumerable<RpcListener> listeners, CancellationToken cancellation)
    {
        _listeners = [.. listeners];
        _cancellation = cancellation;
        foreach (RpcListener listener in _listeners)
        {
            listener.Streams.Added += _event.Set;
            listener.Completion.ContinueWith(
                _ => _event.Set(), _disposed.Token, TaskContinuationOptions.None, TaskScheduler.Default);
        }
    }

    /// <summary>Waits for the next signal.</summary>
    /// <returns>False if the time is over, or the wait was cancelled.</returns>
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

    // The event itself is not disposed, because a listener that stops later may still set it.
    public void Dispose()
    {
        foreach (RpcListener listener in _listeners)
        {
            listener.Streams.Added -= _event.Set;
        }

        // Otherwise each wait of a script would be kept until its listener stops.
        _disposed.Cancel();
        _disposed.Dispose();
    }
}
