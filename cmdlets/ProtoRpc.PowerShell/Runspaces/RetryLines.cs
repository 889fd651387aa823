using System.Collections.Concurrent;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>Collects the lines about retries for the verbose stream of the cmdlet that makes the calls. On
/// the cmdlet's thread, a line is written immediately; lines from other threads wait for <see
/// cref="WriteWaiting"/>.</summary>
/// <param name="write">Writes a line; only called on the cmdlet's thread.</param>
internal sealed class RetryLines(Action<string> write)
{
    // Bounded, because servers can cause any number of lines.
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
