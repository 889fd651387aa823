using System.Text.Json.Nodes;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Tool;

/// <summary><c>protorpc diff</c>: lines, JSON, options and exit codes.</summary>
public sealed class DiffVerbTests : IDisposable
{
    private const int Breaking = 4;

    private readonly TempFolder _folder = new();
    private readonly string _old;
    private readonly string _new;

    public DiffVerbTests()
    {
        _old = _folder.Write("old/a.proto", """
            syntax = "proto3"; package c;
            message M {
              int32 a = 1;
              int32 b = 2;
            }
            """);
        _new = _folder.Write("new/a.proto", """
            syntax = "proto3"; package c;
            message M {
              string a = 1;
            }
            """);
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Writes_a_line_for_each_change_and_ends_with_4()
    {
        ToolRun run = await ToolRun.RunAsync("diff", _old, _new);

        Assert.Equal((Breaking, ""), (run.ExitCode, run.Error));
        Assert.Equal(
            [
                "a.proto:3:3: FieldTypeChanged c.M.a [wire, json, source]: The type of the field a changed "
                + "from int32 to string. Add a field with another number for the new type, and keep this "
                + "one.",
                "a.proto:4:3 (old): FieldDeleted c.M.b [wire, json, source]: The field b = 2 was deleted. "
                + "Keep it, or write 'reserved 2;' and 'reserved \"b\";', so that neither is used for "
                + "something else.",
            ],
            run.Output.TrimEnd('\n').Split('\n'));
    }

    [Fact]
    public async Task Writes_nothing_and_ends_with_0_if_nothing_breaks()
    {
        string set = Path.Combine(_folder.Path, "old.pb");
        await ToolRun.RunAsync("export", "--schema", _old, "-o", set);

        ToolRun run = await ToolRun.RunAsync("diff", set, Path.GetDirectoryName(_old)!);

        Assert.Equal((0, "", ""), (run.ExitCode, run.Output, run.Error));
    }

    [Fact]
    public async Task Writes_JSON()
    {
        ToolRun run = await ToolRun.RunAsync("diff", _old, _new, "--format", "json");

        JsonNode change = JsonNode.Parse(run.Output.Split('\n')[1])!;
        Assert.Equal(Breaking, run.ExitCode);
        Assert.Equal(
            """
            ["FieldDeleted",["wire","json","source"],"c.M.b","a.proto",4,3,true]
            """,
            new JsonArray([.. new[] { "rule", "categories", "element", "file", "line", "column", "old" }
                .Select(name => change[name]!.DeepClone())]).ToJsonString());
        Assert.StartsWith(
            "The field b = 2 was deleted.", (string)change["message"]!, StringComparison.Ordinal);
        Assert.Equal("FIELD_NO_DELETE", (string)change["buf"]![0]!);
    }

    [Theory]
    [InlineData(0, "--category", "file")]
    [InlineData(Breaking, "-c", "Wire,json")]
    [InlineData(Breaking, "--category", "file", "--category", "source")]
    [InlineData(0, "--exclude", "c.*")]
    [InlineData(0, "-x", "*.a", "-x", "c.M.b")]
    [InlineData(Breaking, "-x", "*.a")]
    public async Task Selects_changes(int code, params string[] options)
    {
        ToolRun run = await ToolRun.RunAsync(["diff", _old, _new, .. options]);

        Assert.Equal((code, ""), (run.ExitCode, run.Error));
    }

    [Theory]
    [InlineData("--category is 'wire2'. Use wire, json, source or file", "--category", "wire2")]
    [InlineData("--category is '1'.", "--category", "1")]
    [InlineData("--category is ''.", "--category", "")]
    [InlineData("--exclude is empty.", "--exclude", "")]
    [InlineData("'xml' not recognized", "--format", "xml")]
    public async Task Rejects_wrong_options(string expected, params string[] options)
    {
        ToolRun run = await ToolRun.RunAsync(["diff", _old, _new, .. options]);

        Assert.Equal(2, run.ExitCode);
        Assert.Contains(expected, run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_missing_schema_is_no_finding()
    {
        ToolRun one = await ToolRun.RunAsync("diff", _old);
        ToolRun missing = await ToolRun.RunAsync("diff", _old, Path.Combine(_folder.Path, "none.proto"));

        Assert.Equal(2, one.ExitCode);
        Assert.Equal((1, ""), (missing.ExitCode, missing.Output));
        Assert.Contains("none.proto", missing.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Completes_categories()
    {
        ToolRun run = await ToolRun.RunAsync("__complete", "diff", _old, _new, "--category", "");

        Assert.Equal(["file", "json", "source", "wire"], run.Output.TrimEnd('\n').Split('\n'));
    }
}
