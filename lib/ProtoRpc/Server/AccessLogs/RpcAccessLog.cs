using ProtoRpc.Server.AccessLogs;

namespace ProtoRpc;

/// <summary>The access log of a server: records the calls that it served or rejected. A call never waits for
/// the log.</summary>
/// <remarks>Entries wait in bounded memory. If the memory is full, entries are lost, and the log records how
/// many.</remarks>
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
