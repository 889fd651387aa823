using System.Threading.Channels;

namespace ProtoRpc.Server.AccessLogs;

/// <summary>Passes calls to a method of the host, one after the other, on another thread than that of the
/// call.</summary>
internal sealed class AccessLogQueue : IAccessLogSink
{
    private const int Capacity = 8192;
    private static readonly TimeSpan LastCalls = TimeSpan.FromSeconds(5);

    private readonly Channel<RpcAccessLogEntry> _waiting = Channel.CreateBounded<RpcAccessLogEntry>(
        new BoundedChannelOptions(Capacity) { SingleReader = true });

    private readonly Action<RpcAccessLogEntry> _write;
    private readonly Action<string>? _warn;
    private readonly Task _writing;
    private long _lost;
    private volatile bool _isGivenUp;

    public AccessLogQueue(Action<RpcAccessLogEntry> write, Action<string>? warn)
    {
        _write = write;
        _warn = warn;
        _writing = Task.Run(WriteAsync);
    }

    public void Add(RpcAccessLogEntry entry)
    {
        if (!_waiting.Writer.TryWrite(entry))
        {
            Interlocked.Increment(ref _lost);
        }
    }

    /// <summary>Waits at most 5 seconds until the method has received the waiting calls.</summary>
    public void Dispose()
    {
        _waiting.Writer.TryComplete();
        if (!_writing.Wait(LastCalls))
        {
            _isGivenUp = true;
            Warn($"The access log did not write its last entries within {LastCalls.TotalSeconds} seconds.");
        }
    }

    private async Task WriteAsync()
    {
        await foreach (RpcAccessLogEntry entry in _waiting.Reader.ReadAllAsync().ConfigureAwait(false))
        {
            if (_isGivenUp)
            {
                return;
            }

            Write(entry);
            if (Interlocked.Exchange(ref _lost, 0) is > 0 and long lost)
            {
                Warn($"The access log is slower than the calls: {lost} entries are lost.");
            }
        }
    }

    private void Write(RpcAccessLogEntry entry)
    {
        try
        {
            _write(entry);
        }
        catch (Exception e)
        {
            Warn($"The access log failed for {entry.Method}: {e.Message}");
        }
    }

    private void Warn(string text)
    {
        try
        {
            _warn?.Invoke(text);
        }
        catch (Exception)
        {
            // Exceptions of the warning callback are ignored.
        }
    }
}
