using System.Collections.Concurrent;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>Lines of attempts that are made again, for the verbose stream of the cmdlet whose calls they are
/// of. A line is written at once on the cmdlet's thread; of other threads, when the cmdlet looks.</summary>
/// <param name="write">Writes a line; called on the cmdlet's thread alone.</param>
internal sealed class RetryLines(Action<string> write)
{
    // A server decides how many there are.
    private const int MaxLines = 1000;

    // It goes with the calls of the cmdlet, to whatever thread they continue on.
    private static readonly AsyncLocal<RetryLines?> Reader = new();

    private readonly ConcurrentQueue<string> _lines = new();
    private int _thread;

    /// <summary>The lines of the cmdlet whose call this thread works on; null where nobody reads
    /// them.</summary>
    public static RetryLines? Current => Reader.Value;

    /// <summary>Begins to read on this thread.</summary>
    /// <returns>Who read before, for <see cref="Leave"/>.</returns>
    public RetryLines? Enter()
    {
        RetryLines? before = Reader.Value;
        Reader.Value = this;
        Volatile.Write(ref _thread, Environment.CurrentManagedThreadId);
        return before;
    }

    /// <summary>Ends what <see cref="Enter"/> began, after the lines that wait are written.</summary>
    /// <param name="before">Who reads again; null for nobody.</param>
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

    /// <summary>Writes what came from other threads; called on the cmdlet's thread.</summary>
    public void WriteWaiting()
    {
        while (_lines.TryDequeue(out string? line))
        {
            write(line);
        }
    }
}
