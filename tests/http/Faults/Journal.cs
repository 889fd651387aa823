using System.Text.RegularExpressions;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>The file into which the handler of a server writes each call before it answers: what survives the
/// server.</summary>
internal sealed partial class Journal : IDisposable
{
    // The shell appends a line at once, and ends with its standard input.
    private const string Handler = """
        while IFS= read -r line; do
          printf '%s\n' "$line" >> "$1"
          until [ ! -e "$2" ]; do sleep 0.02; done
          echo '{"reply":{"text":"done"}}'
        done
        """;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

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
    public void Hold() => File.WriteAllText(In("wait"), "");

    public void Release() => File.Delete(In("wait"));

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
        _folder.Delete(recursive: true);
    }

    [GeneratedRegex("call-[0-9]+-[0-9]+")]
    private static partial Regex Name();
}
