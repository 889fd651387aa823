using System.Collections.Concurrent;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>Lines for the debug stream that come on any thread and wait for a cmdlet to write them.</summary>
internal sealed class PendingDebug
{
    // A server decides how many there are.
    private const int MaxLines = 100;

    private readonly ConcurrentQueue<string> _lines = new();

    public void Add(string line)
    {
        if (_lines.Count < MaxLines)
        {
            _lines.Enqueue(line);
        }
    }

    public void WriteTo(Action<string> write)
    {
        while (_lines.TryDequeue(out string? line))
        {
            write(line);
        }
    }
}
