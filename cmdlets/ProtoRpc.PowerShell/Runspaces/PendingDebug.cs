using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using ProtoRpc.Client;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>Lines for the debug stream that come on any thread and wait for a cmdlet to write them.</summary>
internal sealed class PendingDebug
{
    // A server decides how many there are.
    private const int MaxLines = 1000;

    private readonly ConcurrentQueue<string> _lines = new();
    private int _leftOut;

    public void Add(string line)
    {
        if (_lines.Count < MaxLines)
        {
            _lines.Enqueue(line);
        }
        else
        {
            Interlocked.Increment(ref _leftOut);
        }
    }

    public void WriteTo(Action<string> write)
    {
        while (_lines.TryDequeue(out string? line))
        {
            write(line);
        }

        if (Volatile.Read(ref _leftOut) > 0)
        {
            write($"{Interlocked.Exchange(ref _leftOut, 0)} more lines are left out.");
        }
    }
}

/// <summary>The log of the clients of a runspace: what servers do against their protocols is written to the
/// debug stream, and attempts that are made again to the verbose stream of the cmdlet that waits. Calls that
/// fail are errors of their cmdlets.</summary>
internal sealed class PendingLog(PendingDebug lines) : ILoggerFactory, ILogger
{
    /// <inheritdoc/>
    public ILogger CreateLogger(string categoryName) => this;

    /// <inheritdoc/>
    public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

    /// <inheritdoc/>
    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (eventId.Id is ClientLog.CallRetriedId or ClientLog.ConnectRetriedId)
        {
            RetryLines.Current?.Add(formatter(state, exception));
        }
        else if (IsEnabled(logLevel))
        {
            lines.Add(formatter(state, exception));
        }
    }

    /// <inheritdoc/>
    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    /// <inheritdoc/>
    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    /// <inheritdoc/>
    public void Dispose()
    {
    }
}

/// <summary>The trace of the clients of a runspace, which is on while a cmdlet runs that writes to the debug
/// stream.</summary>
internal sealed class PendingTrace(PendingDebug lines) : RpcTrace
{
    private int _readers;

    /// <inheritdoc/>
    public override bool IsEnabled => Volatile.Read(ref _readers) > 0;

    /// <inheritdoc/>
    public override void Write(RpcTraceEntry entry) => lines.Add(entry.ToString());

    /// <summary>Switches the trace on, until <see cref="Leave"/>.</summary>
    public void Enter() => Interlocked.Increment(ref _readers);

    /// <summary>Ends what <see cref="Enter"/> began.</summary>
    public void Leave() => Interlocked.Decrement(ref _readers);
}
