using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Architecture;

/// <summary>What kinds of endpoints are stands in their table alone.</summary>
public static partial class TransportTableTests
{
    // Whoever tells transports apart by their names must be changed for the next one.
    [Fact]
    public static void Only_the_table_tells_transports_apart()
    {
        string root = Repository.Root;
        string built = $"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}";
        IEnumerable<string> files = new[] { "lib", "cmdlets" }
            .SelectMany(folder => Directory.EnumerateFiles(
                Path.Combine(root, folder), "*.cs", SearchOption.AllDirectories))
            .Where(file => !file.Contains(built)
                && Path.GetFileName(file)
                    is not ("RpcTransport.cs" or "RpcEndpoint.cs" or "EndpointHints.cs"
                    or "GrpcNameSyntax.cs"));

        string[] others =
        [
            .. files.SelectMany(file => File.ReadLines(file)
                .Where(line => Named().IsMatch(line) && !SaysWhatItIsFor(line))
                .Select(line => $"{Path.GetFileName(file)}: {line.Trim()}")),
        ];

        Assert.Empty(others);
    }

    // Who brings a new transport names it, and no other one.
    private static bool SaysWhatItIsFor(string line) =>
        line.StartsWith('[') || line.Contains("=> kind.Transport == RpcTransport.", StringComparison.Ordinal);

    [GeneratedRegex(@"\bRpcTransport\.[A-Z]")]
    private static partial Regex Named();
}
