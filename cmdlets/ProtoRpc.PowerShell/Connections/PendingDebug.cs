using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using ProtoRpc.Client;

namespace ProtoRpc.PowerShell.Connections;

/// <summary>Lines for the debug stream. Any thread adds them; a cmdlet writes them.</summary>
internal sealed class PendingDebug
{
    // Limited, because servers can cause any number of lines.
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

/// <summary>The log of a runspace's clients. Protocol violations of servers go to the debug stream, and
/// retries to the verbose stream of the waiting cmdlet. Failed calls are errors of their cmdlets, and are not
/// logged here.</summary>
internal sealed class PendingLog(PendingDebug lines) : ILoggerFactory, ILogger
{
    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (ClientLog.IsOfRetries(eventId))
        {
            RetryLines.Current?.Add(formatter(state, exception));
        }
        else if (IsEnabled(logLevel))
        {
            lines.Add(formatter(state, exception));
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public void Dispose()
    {
    }
}

/// <summary>The trace of a runspace's clients. It is on while a cmdlet with a debug stream runs.</summary>
internal sealed class PendingTrace(PendingDebug lines) : RpcTrace
{
    private int _readers;

    public override bool IsEnabled => Volatile.Read(ref _readers) > 0;

    public override void Write(RpcTraceEntry entry) => lines.Add(entry.ToString());

    /// <summary>Turns the trace on, until <see cref="Leave"/>.</summary>
    public void Enter() => Interlocked.Increment(ref _readers);

    /// <summary>Ends what <see cref="Enter"/> began.</summary>
    public void Leave() => Interlocked.Decrement(ref _readers);
}

/// <summary>Collects the lines about retries for the verbose stream of the cmdlet that makes the calls. On
/// the cmdlet's thread, a line is written immediately; lines from other threads wait for <see
/// cref="WriteWaiting"/>.</summary>
/// <param name="write">Writes a line; only called on the cmdlet's thread.</param>
internal sealed class RetryLines(Action<string> write)
{
    // Limited, because servers can cause any number of lines.
    private const int MaxLines = 1000;

    // An async local, because the cmdlet's calls may continue on other threads.
    private static readonly AsyncLocal<RetryLines?> Reader = new();

    private readonly ConcurrentQueue<string> _lines = new();
    private int _thread;

    /// <summary>The lines of the cmdlet whose call runs on this thread; null if no cmdlet collects
    /// them.</summary>
    public static RetryLines? Current => Reader.Value;

    /// <summary>Begins to collect lines on this thread.</summary>
    /// <returns>The previous collector, for <see cref="Leave"/>.</returns>
    public RetryLines? Enter()
    {
        RetryLines? before = Reader.Value;
        Reader.Value = this;
        Volatile.Write(ref _thread, Environment.CurrentManagedThreadId);
        return before;
    }

    /// <summary>Writes the waiting lines, and ends what <see cref="Enter"/> began.</summary>
    /// <param name="before">The previous collector; null for none.</param>
    public void Leave(RetryLines? before)
    {
        WriteWaiting();
        if (before != this)
        {
            Volatile.Write(ref _thread, 0);
            Reader.Value = before;
        }
    }

    /// <summary>Writes a line, or keeps it for the cmdlet's thread.</summary>
    public void Add(string line)
    {
        if (Volatile.Read(ref _thread) == Environment.CurrentManagedThreadId)
        {
            write(line);
        }
        else if (_lines.Count < MaxLines)
        {
            _lines.Enqueue(line);
        }
    }

    /// <summary>Writes the lines from other threads; call it on the cmdlet's thread.</summary>
    public void WriteWaiting()
    {
        while (_lines.TryDequeue(out string? line))
        {
            write(line);
        }
    }
}
