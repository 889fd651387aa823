using System.Reflection;
using System.Text.RegularExpressions;
using ProtoRpc.Tests.Tool;
using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Docs;

/// <summary>docs/tool.md and docs/migration/grpcurl.md against the tool.</summary>
public static partial class ToolPageTests
{
    // grpcurl 1.9.3, and -unix, which it had before.
    private const string Flags =
        "help version plaintext insecure cacert cert key alts alts-handshaker-service "
        + "alts-target-service-account expand-headers authority servername user-agent d format "
        + "allow-unknown-fields connect-timeout format-error keepalive-time max-time max-msg-sz "
        + "emit-defaults protoset-out proto-out-dir msg-template v vv H rpc-header reflect-header protoset "
        + "proto import-path use-reflection unix";

    private static readonly string[] Lines =
    [
        .. File.ReadLines(Path.Combine(Repository.Root, "docs", "tool.md")),
        .. File.ReadLines(Path.Combine(Repository.Root, "docs", "migration", "grpcurl.md")),
    ];

    [Fact]
    public static void Every_flag_of_grpcurl_has_a_row() => Assert.Equal(
        Flags.Split(' ').Order(StringComparer.Ordinal),
        FlagRows().Select(row => row[0].Trim('`', '-')).Order(StringComparer.Ordinal));

    [Fact]
    public static async Task Every_option_of_the_page_is_one_of_the_tool()
    {
        List<string> known = ["--help", "--version"];
        foreach (string verb in new[] { "list", "describe", "export", "call", "ping", "health" })
        {
            ToolRun help = await ToolRun.RunAsync(verb, "--help");
            known.AddRange(Option().Matches(help.Output).Select(match => match.Value));
        }

        Assert.All(FlagRows(), row =>
        {
            Assert.All(Option().Matches(row[1]), option => Assert.Contains(option.Value, known));
            Assert.True(
                row[1].Contains('-') || row[2].StartsWith("not offered", StringComparison.Ordinal)
                || row[2].StartsWith("renamed", StringComparison.Ordinal),
                row[0]);
        });
    }

    [Fact]
    public static async Task The_page_has_the_verbs_of_the_tool()
    {
        ToolRun help = await ToolRun.RunAsync("--help");

        string[] verbs =
        [
            .. Rows("| verb |").SelectMany(row => row[0].Split(',', StringSplitOptions.TrimEntries))
                .Select(verb => verb.Trim('`').Split(' ')[0]).Distinct(),
        ];
        string commands = help.Output[help.Output.IndexOf("Commands:", StringComparison.Ordinal)..];
        Assert.Equal(
            Verb().Matches(commands).Select(match => match.Groups[1].Value).Order(StringComparer.Ordinal),
            verbs.Order(StringComparer.Ordinal));
    }

    [Fact]
    public static void The_page_has_every_exit_code()
    {
        string[] codes =
        [
            .. typeof(ExitCode).GetFields(BindingFlags.Public | BindingFlags.Static)
                .Select(field => $"{field.GetRawConstantValue()}"),
            $"{ExitCode.OfCall((RpcStatusCode)1)} to {ExitCode.OfCall((RpcStatusCode)16)}",
        ];

        Assert.Equal(
            codes.Order(StringComparer.Ordinal),
            Rows("| code |").Select(row => row[0]).Order(StringComparer.Ordinal));
    }

    private static IEnumerable<string[]> FlagRows() => Rows("| grpcurl | protorpc | how |");

    private static IEnumerable<string[]> Rows(string header) => Lines
        .SkipWhile(line => !line.StartsWith(header, StringComparison.Ordinal)).Skip(2)
        .TakeWhile(line => line.StartsWith('|'))
        .Select(line => line.Trim('|', ' ').Split('|', StringSplitOptions.TrimEntries));

    [GeneratedRegex(@"(?m)^  ([a-z]+)\b")]
    private static partial Regex Verb();

    [GeneratedRegex(@"(?<![\w-])--?[A-Za-z][\w-]*")]
    private static partial Regex Option();
}
