using System.Text.Json;
using System.Threading.Channels;
using ProtoRpc.Transports.Files;

namespace ProtoRpc;

/// <summary>The access log of a server: records the calls that it served or rejected. A call never waits for
/// the log.</summary>
/// <remarks>Entries wait in bounded memory. If the memory is full, entries are lost, and the log records how
/// many.</remarks>
/// <example><code>
/// RpcServerOptions options = new() { AccessLog = RpcAccessLog.ToFile(path) };
/// </code></example>
public sealed class RpcAccessLog
{
    private readonly Func<Action<string>?, IAccessLogSink> _open;

    private RpcAccessLog(Func<Action<string>?, IAccessLogSink> open) => _open = open;

    /// <summary>Receives a warning if entries cannot be written, on a thread of the pool; null for
    /// none.</summary>
    public Action<string>? Warning { get; init; }

    /// <summary>Appends a JSON line for each call to a file, which only its owner can read. If the file is
    /// moved, for example by log rotation, a new one is created.</summary>
    /// <param name="path">The file, which is opened when the server starts to listen, and closed when it has
    /// stopped.</param>
    /// <param name="warning">See <see cref="Warning"/>.</param>
    public static RpcAccessLog ToFile(string path, Action<string>? warning = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        string full = Path.GetFullPath(path);
        return new RpcAccessLog(warn => new AccessLogFile(full, warn)) { Warning = warning };
    }

    /// <summary>Calls a method for each call, one after the other, on a thread of the pool. Exceptions of the
    /// method are reported to <see cref="Warning"/>.</summary>
    /// <param name="write">Receives the calls; at most 8,192 calls wait for it.</param>
    /// <param name="warning">See <see cref="Warning"/>.</param>
    public static RpcAccessLog To(Action<RpcAccessLogEntry> write, Action<string>? warning = null)
    {
        ArgumentNullException.ThrowIfNull(write);
        return new RpcAccessLog(warn => new AccessLogQueue(write, warn)) { Warning = warning };
    }

    /// <summary>Starts the log.</summary>
    /// <exception cref="RpcException">InvalidArgument: the file cannot be written.</exception>
    internal IAccessLogSink Open() => _open(Warning);
}

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

/// <summary>Writes calls as JSON lines.</summary>
internal sealed class AccessLogFile(string path, Action<string>? warn) : IAccessLogSink
{
    private readonly JsonLinesFile _file = new(path, warn);

    public void Add(RpcAccessLogEntry entry) =>
        _file.TryWrite(entry, static (json, call) => Write(json, call));

    public void Dispose() => _file.Dispose();

    private static void Write(Utf8JsonWriter json, RpcAccessLogEntry call)
    {
        json.WriteStartObject();
        json.WriteString("time", call.Time.UtcDateTime);
        json.WriteString("peer", call.Peer);
        json.WriteString("user", call.User);
        json.WriteString("transport", call.Transport.ToString());
        json.WriteString("endpoint", call.Endpoint.ToString());
        json.WriteString("method", call.Method);
        json.WriteString("status", call.Status.ToString());
        json.WriteNumber("milliseconds", Math.Round(call.Milliseconds, 3));
        json.WriteNumber("bytesIn", call.BytesIn);
        json.WriteNumber("bytesOut", call.BytesOut);
        if (call.TraceId is { } trace)
        {
            json.WriteString("traceId", trace);
        }

        if (call.CorrelationId is { } id)
        {
            json.WriteString("correlationId", id);
        }

        json.WriteEndObject();
    }
}

/// <summary>Receives the calls of a listening server, from many threads. Disposing writes the waiting
/// calls.</summary>
internal interface IAccessLogSink : IDisposable
{
    /// <summary>Adds a call without blocking. Never throws.</summary>
    void Add(RpcAccessLogEntry entry);
}
