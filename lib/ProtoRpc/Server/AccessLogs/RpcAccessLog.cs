using ProtoRpc.Server.AccessLogs;

namespace ProtoRpc;

/// <summary>Where a server writes the calls that it served or refused. A call never waits for it.</summary>
/// <remarks>Entries wait in bounded memory; those that find no room are lost, and the log says how
/// many.</remarks>
public sealed class RpcAccessLog
{
    private readonly Func<Action<string>?, IAccessLogSink> _open;

    private RpcAccessLog(Func<Action<string>?, IAccessLogSink> open) => _open = open;

    /// <summary>Receives a warning when entries cannot be written, on a thread of the pool. Null for
    /// none.</summary>
    public Action<string>? Warning { get; init; }

    /// <summary>Appends a JSON line for each call to a file, which only its owner can read. A file that is
    /// moved away, as log rotation does, is made anew.</summary>
    /// <param name="path">The file; opened when the server begins to listen, closed when it has
    /// stopped.</param>
    /// <param name="warning">See <see cref="Warning"/>.</param>
    public static RpcAccessLog ToFile(string path, Action<string>? warning = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        string full = Path.GetFullPath(path);
        return new RpcAccessLog(warn => new AccessLogFile(full, warn)) { Warning = warning };
    }

    /// <summary>Calls a method for each call, one after the other, on a thread of the pool. What it throws
    /// goes to <see cref="Warning"/>.</summary>
    /// <param name="write">Gets the calls; up to 8,192 wait for it.</param>
    /// <param name="warning">See <see cref="Warning"/>.</param>
    public static RpcAccessLog To(Action<RpcAccessLogEntry> write, Action<string>? warning = null)
    {
        ArgumentNullException.ThrowIfNull(write);
        return new RpcAccessLog(warn => new AccessLogQueue(write, warn)) { Warning = warning };
    }

    /// <summary>Begins to write.</summary>
    /// <exception cref="RpcException">InvalidArgument: the file cannot be written.</exception>
    internal IAccessLogSink Open() => _open(Warning);
}
