using System.Diagnostics;
using System.Text.RegularExpressions;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>The file into which the handler of a server writes each call before it answers: what survives the
/// server.</summary>
internal sealed partial class Journal : IDisposable
{
    // The shell appends a line at once, and ends with its standard input. It waits for a line of a named
    // pipe, which takes no time of the processor. Loops that ask went on for ever after killed runs of tests.
    private const string Handler = """
        while IFS= read -r line; do
          printf '%s\n' "$line" >> "$1"
          [ -p "$2" ] && read -r _ < "$2"
          echo '{"reply":{"text":"done"}}'
        done
        """;

    // More than the handlers of a test that wait.
    private const int Lines = 1000;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");
    private FileStream? _wait;

    public Journal()
    {
        File.WriteAllText(In("handler.sh"), Handler);
        File.WriteAllText(In("journal"), "");
    }

    /// <summary>The arguments of a server that writes into it.</summary>
    public string[] Arguments =>
        ["--exec-keep", $"sh {In("handler.sh")} {In("journal")} {In("wait")}", "--exec-limit", "16"];

    /// <summary>The names of the calls that ran, in order.</summary>
    public string[] Ran => [.. Name().Matches(File.ReadAllText(In("journal"))).Select(match => match.Value)];

    /// <summary>Lets handlers wait from now on, after they wrote their call.</summary>
    public void Hold()
    {
        using Process maker = Process.Start("mkfifo", [In("wait")]);
        maker.WaitForExit();
        Assert.Equal(0, maker.ExitCode);

        // For both directions, since opening one waits for the other.
        _wait = new FileStream(In("wait"), FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite,
            bufferSize: 0);
    }

    /// <summary>Ends the wait, of handlers that are about to wait as well.</summary>
    public void Release()
    {
        File.Delete(In("wait"));
        _wait?.Write([.. Enumerable.Repeat((byte)'\n', Lines)]);
    }

    public string In(string name) => Path.Combine(_folder.FullName, name);

    /// <summary>Fails unless each call that was acknowledged ran, and each ran once at most.</summary>
    public void AssertOnce(IReadOnlyCollection<string> acknowledged)
    {
        string[] ran = Ran;
        Assert.Empty(ran.GroupBy(name => name).Where(group => group.Count() > 1).Select(group => group.Key));
        Assert.Empty(acknowledged.Except(ran));
    }

    public void Dispose()
    {
        Release();
        _wait?.Dispose();
        _folder.Delete(recursive: true);
    }

    [GeneratedRegex("call-[0-9]+-[0-9]+")]
    private static partial Regex Name();
}
