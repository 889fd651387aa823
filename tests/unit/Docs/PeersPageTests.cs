using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>docs/peers.md lists the clients and servers of others as the attributes <c>PeerCall</c> of the
/// tests do.</summary>
public static partial class PeersPageTests
{
    private const string Head =
        "protocol | one reply | replies stream | requests stream | both stream | also | tests |\n"
        + "| --- | --- | --- | --- | --- | --- | --- | --- |";

    private static readonly string Tests = Path.Combine(Repository.Root, "tests");

    private static readonly PeerCalls[] Kinds =
        [PeerCalls.Unary, PeerCalls.ServerStream, PeerCalls.ClientStream, PeerCalls.Duplex];

    // What interop needs beside clients and servers: judges of bytes and words, realms, proxies, shells.
    private static readonly string[] NoCallers =
    [
        "Tshark", "Kdc", "GssNtlm", "PythonProtobuf", "WineKerberos", "Nginx", "PowerShell", "Hunspell",
        "FakeTime",
    ];

    // Tests that compare two servers or two schemas, test our own stubs, or only measure.
    private static readonly string[] NoPeerCalls =
    [
        "JsonTranscodingServerTests", "StubInvokerTests", "StubStreamTests", "StubUnaryTests",
        "BenchmarkReportTests", "BufBreakingTests",
    ];

    private static readonly Call[] Calls =
    [
        .. Files("interop").Concat(Files("peers"))
            .SelectMany(file => CallsOf(NameOf(file), File.ReadAllText(file))),
    ];

    [Theory]
    [InlineData("clients", "client", nameof(PeerSide.Client))]
    [InlineData("servers", "server", nameof(PeerSide.Server))]
    public static void The_page_has_what_the_tests_show(string section, string column, string side)
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "peers.md"));

        string wanted = $"| {column} | {Head}\n{string.Join('\n', Rows(Enum.Parse<PeerSide>(side)))}";
        string found = SectionOf(page, section);

        Assert.True(wanted == found, $"docs/peers.md needs this between the marks of '{section}':\n{wanted}");
    }

    [Fact]
    public static void Tests_with_clients_and_servers_of_others_say_what_they_show()
    {
        IEnumerable<string> interop = Files("interop").Where(file => Needed()
            .Matches(File.ReadAllText(file))
            .Any(match => !NoCallers.Contains(match.Groups["peer"].Value)));

        Assert.Empty(interop.Concat(Files("peers")).Select(NameOf)
            .Except(NoPeerCalls)
            .Except(Calls.Select(call => call.Test))
            .Select(test => $"{test} calls a client or server of others, and has no attribute PeerCall."));
    }

    [Fact]
    public static void Attributes_are_read_across_lines()
    {
        const string Source = """
            [PeerCall("a", "b", PeerSide.Client, PeerCalls.Unary)]
                [PeerCall(
                    "c (d)", "e", PeerSide.Server,
                    PeerCalls.AllKinds | PeerCalls.Errors
                        | PeerCalls.Tls)]
            """;

        Call[] calls = [.. CallsOf("T", Source)];

        Assert.Equal(new Call("T", "a", "b", PeerSide.Client, PeerCalls.Unary), calls[0]);
        Assert.Equal(
            new Call("T", "c (d)", "e", PeerSide.Server,
                PeerCalls.AllKinds | PeerCalls.Errors | PeerCalls.Tls),
            calls[1]);
        Assert.Equal(2, calls.Length);
    }

    private static IEnumerable<string> Rows(PeerSide side) => Calls
        .Where(call => call.Side == side)
        .GroupBy(call => (call.Peer, call.Protocol))
        .OrderBy(row => row.Key.Peer.TrimStart('@').ToUpperInvariant(), StringComparer.Ordinal)
        .ThenBy(row => row.Key.Protocol, StringComparer.Ordinal)
        .Select(row =>
        {
            PeerCalls shown = row.Aggregate(default(PeerCalls), (all, call) => all | call.Kinds);
            string kinds = string.Join(" | ", Kinds.Select(kind => shown.HasFlag(kind) ? "yes" : ""));
            string tests = string.Join(
                ", ", row.Select(call => call.Test).Distinct().Order(StringComparer.Ordinal));
            return $"| {row.Key.Peer} | {row.Key.Protocol} | {kinds} | {Further(shown)} | {tests} |";
        });

    private static string Further(PeerCalls shown) => string.Join(", ", Enum.GetValues<PeerCalls>()
        .Where(one => shown.HasFlag(one) && one != PeerCalls.AllKinds && !Kinds.Contains(one))
        .Select(one => one switch
        {
            PeerCalls.ErrorDetails => "details of errors",
            PeerCalls.ClientCertificates => "client certificates",
            PeerCalls.UnixSockets => "Unix sockets",
            PeerCalls.Get or PeerCalls.Tls or PeerCalls.Ntlm => $"{one}".ToUpperInvariant(),
            PeerCalls.Kerberos => "Kerberos",
            _ => $"{one}".ToLowerInvariant(),
        }));

    private static IEnumerable<Call> CallsOf(string test, string source) => Attribute().Matches(source)
        .Select(match => new Call(
            test, match.Groups["peer"].Value, match.Groups["protocol"].Value,
            Enum.Parse<PeerSide>(match.Groups["side"].Value),
            match.Groups["calls"].Value.Split('|', StringSplitOptions.TrimEntries)
                .Select(name => Enum.Parse<PeerCalls>(name["PeerCalls.".Length..]))
                .Aggregate(static (all, one) => all | one)));

    private static IEnumerable<string> Files(string folder) => Directory
        .EnumerateFiles(Path.Combine(Tests, folder), "*Tests.cs", SearchOption.AllDirectories)
        .Order(StringComparer.Ordinal);

    private static string NameOf(string file) => Path.GetFileNameWithoutExtension(file);

    private static string SectionOf(string page, string section)
    {
        string begin = $"<!-- {section}:begin -->";
        int start = page.IndexOf(begin, StringComparison.Ordinal);
        int end = page.IndexOf($"<!-- {section}:end -->", StringComparison.Ordinal);
        Assert.True(start >= 0 && end > start, $"The page has no section between marks {begin}.");
        return page[(start + begin.Length)..end].ReplaceLineEndings("\n").Trim();
    }

    [GeneratedRegex(
        "^ *\\[PeerCall\\(\\s*\"(?<peer>[^\"]+)\",\\s*\"(?<protocol>[^\"]+)\","
        + @"\s*PeerSide\.(?<side>\w+),\s*(?<calls>[^)]+)\)\]",
        RegexOptions.Multiline)]
    private static partial Regex Attribute();

    [GeneratedRegex(@"\[Peer(Fact|Theory|Data)\(Peer\.(?<peer>\w+)")]
    private static partial Regex Needed();

    private sealed record Call(string Test, string Peer, string Protocol, PeerSide Side, PeerCalls Kinds);
}
