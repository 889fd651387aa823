using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using ProtoRpc.Tool;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>Completion of the tool's command lines, its help and its manual page.</summary>
public static class CompletionTests
{
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    [Theory]
    [InlineData("list,listen", "li")]
    [InlineData("--exec,--exec-authorization,--exec-env,--exec-keep,--exec-limit", "listen", "--ex")]
    [InlineData("grpc+unix://,grpc://,grpcs://", "listen", "gr")]
    [InlineData("", "listen", "res")]
    [InlineData("rest://,rests://", "call", "res")]
    [InlineData("connect://,connects://", "call", "conn")]
    [InlineData("grpcweb://,grpcwebs://", "call", "grpcw")]
    [InlineData("dns:///", "call", "dn")]
    [InlineData("unix-abstract:,unix:///", "call", "unix")]
    [InlineData("", "listen", "dn")]
    [InlineData("json,text", "bench", "x", "y", "--format", "")]
    [InlineData("bash,fish,pwsh,zsh", "completion", "")]
    [InlineData("streams.Words/Say,streams.Words/Split", "bench", "x", "--schema", "SCHEMA",
        "streams.Words/S")]
    [InlineData("streams.Words/Say=,streams.Words/Split=", "listen", "x", "--schema", "SCHEMA", "--exec",
        "streams.Words/S")]
    [InlineData("streams.Silent,streams.Words", "listen", "x", "--schema", "SCHEMA", "--service", "")]
    [InlineData("", "bench", "x", "--schema", "/nothing/here.proto", "s")]
    [InlineData("", "nothing", "s")]
    public static async Task Words_are_completed(string expected, params string[] words)
    {
        words = [.. words.Select(word => word == "SCHEMA" ? Schema : word)];

        (int code, string output, string error) = await ToolProcess.RunAsync(null, ["__complete", .. words]);

        Assert.Equal((0, ""), (code, error));
        Assert.Equal(expected, string.Join(',', output.Split(
            '\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)));
    }

    [Theory]
    [InlineData("ENDPOINT")]
    [InlineData("HOST:PORT", "--plaintext")]
    public static async Task Methods_come_from_the_server(string endpoint, params string[] options)
    {
        using WordsServer server = new("grpc://127.0.0.1:0");
        endpoint = endpoint == "ENDPOINT"
            ? $"{server.Endpoint}"
            : $"{server.Endpoint}".Replace("grpc://", "", StringComparison.Ordinal);

        // A busy machine may take longer than a completion may.
        string output = "";
        for (Stopwatch watch = Stopwatch.StartNew(); output.Length == 0 && watch.Elapsed.TotalSeconds < 60;)
        {
            (_, output, _) = await ToolProcess.RunAsync(
                null, ["__complete", "bench", .. options, endpoint, "streams.Words/Sp"]);
        }

        Assert.Equal("streams.Words/Split\n", output.ReplaceLineEndings("\n"));
    }

    [Theory]
    [InlineData("streams.Words\n", "proxy", "http://127.0.0.1:8080", "SERVER", "--service", "streams.W")]
    [InlineData("streams.Words\n", "proxy", "DEAF", "SERVER", "--service", "streams.W")]
    [InlineData("", "proxy", "SERVER", "--service", "")]
    [InlineData("", "listen", "SERVER", "--service", "")]
    public static async Task Services_of_a_proxy_come_from_the_server_behind_it(
        string expected, params string[] words)
    {
        using WordsServer server = new("grpc://127.0.0.1:0");
        using TcpListener deaf = new(IPAddress.Loopback, 0);
        deaf.Start();
        words =
        [
            "__complete",
            .. words.Select(word => word switch
            {
                "SERVER" => $"{server.Endpoint}",
                "DEAF" => $"grpc://{deaf.LocalEndpoint}",
                _ => word,
            }),
        ];

        // A busy machine may take longer than a completion may.
        string output = "";
        Stopwatch watch = Stopwatch.StartNew();
        do
        {
            (_, output, _) = await ToolProcess.RunAsync(null, words);
            output = output.ReplaceLineEndings("\n");
        }
        while (output != expected && watch.Elapsed.TotalSeconds < 60);

        Assert.Equal(expected, output);
    }

    [Fact]
    public static async Task A_server_that_says_nothing_holds_no_shell()
    {
        using TcpListener deaf = new(IPAddress.Loopback, 0);
        deaf.Start();
        Stopwatch watch = Stopwatch.StartNew();

        (int code, string output, _) = await ToolProcess.RunAsync(
            null, "__complete", "bench", $"grpc://127.0.0.1:{((IPEndPoint)deaf.LocalEndpoint).Port}", "s");

        Assert.Equal((0, ""), (code, output));
        Assert.InRange(watch.Elapsed.TotalSeconds, 0, 10);
    }

    [Theory]
    [InlineData("bash", "complete -F _protorpc protorpc")]
    [InlineData("zsh", "compdef _protorpc protorpc")]
    [InlineData("fish", "complete -c protorpc")]
    [InlineData("pwsh", "Register-ArgumentCompleter -Native -CommandName protorpc")]
    public static async Task Each_shell_has_a_script(string shell, string line)
    {
        (int code, string output, _) = await ToolProcess.RunAsync(null, "completion", shell);

        Assert.Equal(0, code);
        Assert.Contains(line, output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Help_is_that_of_protorpc_and_has_examples()
    {
        foreach (string verb in new[] { "listen", "mock", "proxy", "bench", "repl", "completion" })
        {
            (int code, string output, string error) = await ToolProcess.RunAsync(null, verb, "--help");

            Assert.Equal((0, ""), (code, error));
            Assert.Contains($"  protorpc {verb} ", output, StringComparison.Ordinal);
            Assert.Contains("Examples:", output, StringComparison.Ordinal);
            Assert.NotEmpty(VerbExamples.Get(verb));
        }
    }

    [Fact]
    public static async Task The_manual_page_has_every_verb()
    {
        (int code, string output, _) = await ToolProcess.RunAsync(null, "man");

        Assert.Equal(0, code);
        Assert.StartsWith(".TH PROTORPC 1 ", output, StringComparison.Ordinal);
        foreach (string verb in new[] { "listen", "mock", "proxy", "bench", "repl", "completion" })
        {
            Assert.Contains($".SS \"protorpc {verb} ", output, StringComparison.Ordinal);
        }
    }
}
