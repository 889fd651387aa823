using System.Reflection;
using System.Text.RegularExpressions;

namespace ProtoRpc.Tests.Docs;

/// <summary>The ids of errors stand in RpcErrorIds alone,
/// and about_ProtoRpc_ErrorIds explains each.</summary>
public static partial class ErrorIdsTests
{
    // Names of other things that are also ids.
    private static readonly (string File, string Text)[] OtherNames =
    [
        ("RpcStatusCode.cs", "ProtocolError"),
        ("EndpointParameters.cs", "NoReflection"),
    ];

    // Ids that mark errors inside a listener and that no program receives. Invoke-RpcMethod.Tests.ps1 and
    // StuckHandlers.Tests.ps1 cause these errors.
    private static readonly string[] Internal = ["HandlerThrew", "WorkersStuck"];

    private static readonly string[] Ids =
    [
        .. typeof(RpcErrorIds).GetFields(BindingFlags.Public | BindingFlags.Static)
            .Where(field => field.IsLiteral).Select(field => field.Name),
    ];

    private static readonly (string File, string Text)[] Sources =
    [
        .. new[] { "lib", "cmdlets" }
            .SelectMany(folder => Directory.EnumerateFiles(
                Path.Combine(Repository.Root, folder), "*.cs", SearchOption.AllDirectories))
            .Where(file => !file.Contains($"{Path.DirectorySeparatorChar}obj{Path.DirectorySeparatorChar}"))
            .Select(file => (Path.GetFileName(file), CommentLine().Replace(File.ReadAllText(file), "")))
            .Where(source => source.Item1 != "RpcErrorIds.cs"),
    ];

    [Fact]
    public static void Each_id_is_its_own_name()
    {
        Assert.NotEmpty(Ids);
        Assert.All(Ids, id => Assert.Equal(id, typeof(RpcErrorIds).GetField(id)!.GetRawConstantValue()));
    }

    [Fact]
    public static void The_page_explains_each_id_and_each_status_and_no_other()
    {
        string page = File.ReadAllText(
            Path.Combine(Repository.Root, "docs", "en-US", "about_ProtoRpc_ErrorIds.md"));
        IEnumerable<string> statuses = Enum.GetValues<RpcStatusCode>()
            .Where(code => code != RpcStatusCode.OK).Select(RpcErrorIds.OfStatus);

        string[] headings = [.. Heading().Matches(page).Select(match => match.Groups["id"].Value)];
        string[] explained = [.. Section().Matches(page).Select(match => match.Groups["id"].Value)];

        Assert.Equal(
            Ids.Concat(statuses).Order(StringComparer.Ordinal), headings.Order(StringComparer.Ordinal));
        Assert.Equal(headings, explained);
    }

    [Fact]
    public static void Each_id_is_used()
    {
        HashSet<string> used =
            [.. Sources.SelectMany(source => Use().Matches(source.Text))
                .Select(use => use.Groups["id"].Value)];

        Assert.All(Ids, id => Assert.Contains(id, used));
    }

    [Fact]
    public static void A_test_names_each_id()
    {
        string tests = Path.Combine(Repository.Root, "tests");
        HashSet<string> named =
        [
            .. new[] { "*.cs", "*.ps1" }
                .SelectMany(files => Directory.EnumerateFiles(tests, files, SearchOption.AllDirectories))
                .Where(file => Path.GetFileName(file) != "ErrorIdsTests.cs")
                .SelectMany(file => Expected().Matches(File.ReadAllText(file)))
                .Select(id => id.Groups["id"].Value),
        ];

        Assert.Equal(Internal, Ids.Where(id => !named.Contains(id)));
    }

    [Fact]
    public static void No_code_writes_an_id_as_text()
    {
        HashSet<string> ids = [.. Ids];
        IEnumerable<(string File, string Text)> written = Sources.SelectMany(source => Literal()
            .Matches(source.Text)
            .Select(literal => (source.File, literal.Groups["text"].Value))
            .Where(literal => ids.Contains(literal.Value)));

        Assert.Empty(written.Except(OtherNames));
    }

    [Fact]
    public static void Errors_take_their_ids_from_RpcErrorIds()
    {
        (string, int)[] shared =
            [.. Sources.SelectMany(source => ErrorIdSources.Methods(source.Text)).Distinct()];

        Assert.Empty(Sources.SelectMany(source => ErrorIdSources.Foreign(source.Text, shared)
            .Select(expression => $"{source.File}: {expression}")));
    }

    [Theory]
    [InlineData("new(code, text) { ErrorId = \"New\" }", "\"New\"")]
    [InlineData("new(code, text) { ErrorId = NewId, Endpoint = endpoint }", "NewId")]
    [InlineData("{ ErrorId = a == b ? RpcErrorIds.BadReply : Own }", "Own")]
    [InlineData("{ ErrorId = $\"{kind}NotFound\" }", "$\"{kind}NotFound\"")]
    [InlineData("string errorId = kind switch { \"a\" => RpcErrorIds.BadReply, _ => \"New\" };", "\"New\"")]
    [InlineData("RpcException Error(string errorId, string why) => x; throw Error(\"New\", why);", "\"New\"")]
    [InlineData("new ErrorRecord(Of(e, 1), \"New\", ErrorCategory.NotSpecified, this)", "\"New\"")]
    public static void An_id_from_elsewhere_is_found(string code, string found) =>
        Assert.Equal([found], ErrorIdSources.Foreign(code));

    [Theory]
    [InlineData("{ ErrorId = RpcErrorIds.BadReply, Endpoint = endpoint }")]
    [InlineData("{ ErrorId = e.ErrorId }")]
    [InlineData("new(Code, message, this) { ErrorId = ErrorId, FieldPath = FieldPath }")]
    [InlineData("{ ErrorId = a == b ? RpcErrorIds.BadReply : RpcErrorIds.OfStatus(code) }")]
    [InlineData("if (e.ErrorId == other) { }")]
    [InlineData("RpcException Error(string errorId) => x; throw Error(RpcErrorIds.BadReply);")]
    [InlineData("new ErrorRecord(record, failure)")]
    public static void An_id_of_the_file_is_not(string code) => Assert.Empty(ErrorIdSources.Foreign(code));

    [GeneratedRegex("^ *//.*$", RegexOptions.Multiline)]
    private static partial Regex CommentLine();

    [GeneratedRegex("^### (?<id>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    [GeneratedRegex(
        @"^### (?<id>[\w.]+)\n\n\S.+\.\n\n- Cause: .+\.\n- Action: .+\.$", RegexOptions.Multiline)]
    private static partial Regex Section();

    [GeneratedRegex(@"\bRpcErrorIds\.(?<id>\w+)")]
    private static partial Regex Use();

    // An id alone, or with the command that FullyQualifiedErrorId adds: 'BadReply,*'.
    [GeneratedRegex("""["'](?<id>[A-Z]\w+)(?:[,*][^"'\n]*)?["']|\bRpcErrorIds\.(?<id>\w+)""")]
    private static partial Regex Expected();

    [GeneratedRegex("\"(?<text>\\w+)\"")]
    private static partial Regex Literal();
}
