using System.Text.Json;

namespace ProtoRpc.WindowsTests;

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

    /// <summary>A class begins; it is printed as well, which shows that the process is alive.</summary>
    public void BeginClass(string name)
    {
        Write(new { kind = "class", name });
        Console.WriteLine(name);
    }

    /// <summary>A test begins; it is printed as well.</summary>
    public void BeginTest(string name, string id)
    {
        Write(new { kind = "test", name, id });
        Console.WriteLine(name);
    }

    public void Dispose() => _file.Dispose();
}
