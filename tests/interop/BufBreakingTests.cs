using System.Text.Json;
using ProtoRpc.Tests.Compatibility;

namespace ProtoRpc.Interop;

/// <summary>buf breaking finds the same changes as <see cref="RpcSchemaComparison"/>, by the rules that each
/// change names.</summary>
public sealed class BufBreakingTests : IDisposable
{
    private const int Found = 100;

    // The levels of buf that contain each other are lists of rules here.
    private const string Configuration =
        """
        version: v2
        breaking:
          use: [FILE, PACKAGE, WIRE_JSON, WIRE]

        """;

    // These break calls, and not only code as buf says.
    private static readonly RpcBreakingRule[] Unimplemented =
        [RpcBreakingRule.ServiceDeleted, RpcBreakingRule.MethodDeleted];

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    public void Dispose() => _folder.Delete(recursive: true);

    [PeerTheory(Peer.Buf)]
    [MemberData(nameof(SchemaChangeCases.NamesForBuf), MemberType = typeof(SchemaChangeCases))]
    public async Task Finds_the_same_changes(string name)
    {
        SchemaChange change = SchemaChangeCases.Get(name);
        string older = Path.Combine(_folder.FullName, "older");
        string newer = Path.Combine(_folder.FullName, "newer");
        SchemaChange.Write(change.Older, older);
        SchemaChange.Write(change.Newer, newer);
        await File.WriteAllTextAsync(Path.Combine(older, "buf.yaml"), Configuration);
        await File.WriteAllTextAsync(Path.Combine(newer, "buf.yaml"), Configuration);

        PeerResult result = await RunAsync("breaking", newer, "--against", older, "--error-format", "json");

        List<(string Rule, string Message)> theirs = [.. Lines(result.Output).Select(line =>
            (line.GetProperty("type").GetString()!, line.GetProperty("message").GetString()!))];
        Assert.Equal(theirs.Count == 0 ? 0 : Found, result.Code);
        List<(string Rule, RpcBreakingChange Change)> ours =
            [.. change.Compare().SelectMany(one => one.BufRules.Select(rule => (rule, one)))];
        Assert.Equal(
            theirs.Select(one => one.Rule).Order(StringComparer.Ordinal),
            ours.Select(one => one.Rule).Order(StringComparer.Ordinal));
        // buf names elements by their bare names or numbers.
        Assert.All(ours, one =>
        {
            (string Rule, string Message) same = theirs.FirstOrDefault(
                other => other.Rule == one.Rule && Names(one.Change).Any(
                    word => other.Message.Contains($"\"{word}\"", StringComparison.Ordinal)
                        || other.Message.Contains($".{word}\"", StringComparison.Ordinal)));
            Assert.True(
                same != default || IsOfFile(one.Change),
                $"{one.Rule} of {one.Change.Element} is not in:\n"
                + string.Join('\n', theirs.Select(other => other.Message)));
            theirs.Remove(same);
        });
    }

    [PeerFact(Peer.Buf)]
    public async Task Has_no_further_rules_and_the_same_levels()
    {
        PeerResult result = await RunAsync(
            "config", "ls-breaking-rules", "--version", "v2", "--format", "json");
        Dictionary<string, string[]> levels = Lines(result.Output).ToDictionary(
            line => line.GetProperty("id").GetString()!,
            line => line.GetProperty("categories").EnumerateArray()
                .Select(one => one.GetString()!).ToArray());

        RpcBreakingChange[] changes = [.. SchemaChangeCases.All.SelectMany(change => change.Compare())];

        // Of versions before 2.
        string[] known = [.. levels.Keys, "MESSAGE_SAME_MESSAGE_SET_WIRE_FORMAT"];
        Assert.Equal(
            known.Order(StringComparer.Ordinal),
            changes.SelectMany(change => change.BufRules).Distinct().Order(StringComparer.Ordinal));
        Assert.All(changes.Where(change => change.BufRules.Any(levels.ContainsKey)), change =>
        {
            bool IsIn(string level) => change.BufRules.Any(
                rule => levels.GetValueOrDefault(rule, []).Contains(level));

            if (!Unimplemented.Contains(change.Rule))
            {
                bool isName = change.Rule == RpcBreakingRule.ReservedDeleted
                    && change.Category == RpcBreakingCategory.Json;
                Assert.Equal(IsIn("WIRE") && !isName, change.Category.HasFlag(RpcBreakingCategory.Wire));
                Assert.Equal(
                    IsIn("WIRE_JSON"),
                    (change.Category & (RpcBreakingCategory.Wire | RpcBreakingCategory.Json)) != 0);
            }

            // Another syntax is for each language to say.
            Assert.Equal(
                IsIn("PACKAGE") && change.Rule != RpcBreakingRule.FileSyntaxChanged,
                (change.Category & RpcSchemaComparisonOptions.DefaultCategory) != 0);
        });
    }

    private static bool IsOfFile(RpcBreakingChange change) =>
        change.Rule is RpcBreakingRule.FileDeleted or RpcBreakingRule.FilePackageChanged
            or RpcBreakingRule.FileSyntaxChanged or RpcBreakingRule.FileOptionChanged
            or RpcBreakingRule.DescriptorAccessorRemoved;

    // The names of the element, and the words and numbers of the message.
    private static IEnumerable<string> Names(RpcBreakingChange change) =>
        change.Message.Split([' ', '.', ',', '\'', '"', ';', ':', '='], StringSplitOptions.RemoveEmptyEntries)
            .Concat(change.Element.Split('.', '/'));

    private static IEnumerable<JsonElement> Lines(string output) => output
        .Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)
        .Select(line => JsonDocument.Parse(line).RootElement);

    private async Task<PeerResult> RunAsync(params string[] arguments)
    {
        using PeerProcess buf = PeerProcess.Start(
            Peers.Node, [new("BUF_CACHE_DIR", Path.Combine(_folder.FullName, "cache"))],
            [Peers.Buf, .. arguments]);
        PeerResult result = await buf.ReadResultAsync();
        Assert.True(result.Code is 0 or Found, result.Errors);
        return result;
    }
}
