using System.Text.Json;

namespace ProtoRpc.WineTests;

/// <summary>A file with a line for each event, written at once: the process may end at any time.</summary>
internal sealed class TestJournal(string path) : IDisposable
{
    private readonly Lock _gate = new();
    private readonly StreamWriter _file = new(path) { AutoFlush = true };

    public void Write(object entry)
    {
        lock (_gate)
        {
            _file.WriteLine(JsonSerializer.Serialize(entry));
        }
    }

    /// <summary>An event of a class or test; it is printed as well, which shows that the process is
    /// alive.</summary>
    public void Begin(string kind, string name)
    {
        Write(new { kind, name });
        Console.WriteLine(name);
    }

    public void Dispose() => _file.Dispose();
}
