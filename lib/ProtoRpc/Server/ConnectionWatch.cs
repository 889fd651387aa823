namespace ProtoRpc.Server;

/// <summary>Checks a listener's connections periodically.</summary>
/// <remarks>Its timer stops without connections, so that an unused listener costs nothing.</remarks>
internal sealed class ConnectionWatch : IDisposable, IAsyncDisposable
{
    private readonly TimeSpan _period;
    private readonly Action<long> _look;
    private readonly Func<bool> _isEmpty;
    private readonly Timer _timer;
    private int _watching;

    /// <param name="period">The time between two checks.</param>
    /// <param name="look">Checks all connections; receives <see cref="Environment.TickCount64"/>.</param>
    /// <param name="isEmpty">Whether no connection is left.</param>
    public ConnectionWatch(TimeSpan period, Action<long> look, Func<bool> isEmpty)
    {
        _period = period;
        _look = look;
        _isEmpty = isEmpty;
        _timer = new Timer(
            static state => ((ConnectionWatch)state!).Watch(), this, Timeout.Infinite, Timeout.Infinite);
    }

    /// <summary>Starts the timer if it is stopped. Call this after adding a connection.</summary>
    public void Start()
    {
        if (Interlocked.Exchange(ref _watching, 1) == 0)
        {
            SetTimer();
        }
    }

    /// <summary>Stops checking.</summary>
    public void Dispose() => _timer.Dispose();

    /// <summary>Stops checking, and waits for a running check.</summary>
    public ValueTask DisposeAsync() => _timer.DisposeAsync();

    private void SetTimer()
    {
        try
        {
            _timer.Change(_period, Timeout.InfiniteTimeSpan);
        }
        catch (ObjectDisposedException)
        {
            // The listener has just stopped, and has closed all connections.
        }
    }

    private void Watch()
    {
        _look(Environment.TickCount64);
        if (!_isEmpty())
        {
            SetTimer();
            return;
        }

        // A connection that came after the question above found it still watching.
        Volatile.Write(ref _watching, 0);
        if (!_isEmpty())
        {
            Start();
        }
    }
}
