using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

public static partial class ListenVerbTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    [Fact]
    public static async Task Echoes_the_fields_that_request_and_reply_share()
    {
        await using Listening listening = await Listening.StartAsync("benchmark.proto", "--echo");

        ToolRun run = await ToolRun.RunAsync(
            "invoke", listening.Endpoint, "Test", "--schema", Listening.Proto("benchmark.proto"),
            "--message",
            """{ "data": [ { "bytes": "AQI=", "text": "AQI=", "number": 7, "float": 0.5, "time": 9 } ] }""");

        Assert.Equal("", run.Error);
        Assert.Contains("\"number\": 7", run.Output, StringComparison.Ordinal);
        Assert.Contains("\"bytes\": \"AQI=\"", run.Output, StringComparison.Ordinal);
        Assert.Contains("Benchmark.SampleService/Test", listening.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(
        "request.xml",
        "<root><data><bytes>AQI=</bytes><text>a</text><number>7</number><float>1</float><time>9</time></data>"
        + "</root>")]
    [InlineData("request.txtpb", "data { bytes: 'x' text: 'a' number: 7 float: 1 time: 9 }")]
    [InlineData(
        "request.json",
        """{ "data": [ { "bytes": "AQI=", "text": "a", "number": 7, "float": 1, "time": 9 } ] }""")]
    public static async Task The_name_of_a_message_file_says_its_format(string name, string text)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string file = Path.Combine(folder.FullName, name);
            await File.WriteAllTextAsync(file, text);
            await using Listening listening = await Listening.StartAsync("benchmark.proto", "--echo");

            ToolRun run = await ToolRun.RunAsync(
                "invoke", listening.Endpoint, "Test", "--schema", Listening.Proto("benchmark.proto"),
                "--message", $"@{file}");

            Assert.Equal("", run.Error);
            Assert.Contains("\"number\": 7", run.Output, StringComparison.Ordinal);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public static async Task Answers_with_the_reply_that_it_was_given()
    {
        await using Listening listening = await Listening.StartAsync(
            "search.proto", "--reply", """{ "result": [ { "url": "http://a.example" } ] }""");

        ToolRun run = await ToolRun.RunAsync(
            "invoke", listening.Endpoint, "Search",
            "--schema", Listening.Proto("search.proto"), "--set", "query=a");

        Assert.Equal("", run.Error);
        Assert.Contains("http://a.example", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Gives_the_replies_of_the_examples_in_its_help()
    {
        string[][] replies =
        [
            .. VerbExamples.Get("listen")
                .Select(example => ReplyOption().Match(example.Line))
                .Where(option => option.Success)
                .Select(option => new[] { option.Groups["name"].Value, option.Groups["value"].Value }),
        ];

        Assert.NotEmpty(replies);
        foreach (string[] reply in replies)
        {
            await using Listening listening = await Listening.StartAsync("search.proto", reply);
            ToolRun run = await ToolRun.RunAsync(
                "invoke", listening.Endpoint, "Search",
                "--schema", Listening.Proto("search.proto"), "--set", "query=a");

            Assert.Equal("", run.Error);
            Assert.Contains("\"url\"", run.Output, StringComparison.Ordinal);
        }
    }

    [Fact]
    public static async Task Answers_a_ping()
    {
        await using Listening listening = await Listening.StartAsync("sample.proto");

        ToolRun run = await ToolRun.RunAsync(
            "ping", listening.Endpoint, "--schema", Listening.Proto("sample.proto"));

        Assert.Equal((0, ""), (run.ExitCode, run.Error));
        Assert.Contains("Sample.MyService", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_ping_says_that_the_server_rejects_the_caller()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp, new()
        {
            Security = new()
            {
                Authentication = RpcAuthentication.Ntlm,
                NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word"))],
            },
        });

        ToolRun run = await ToolRun.RunAsync("ping", $"{server.Endpoints[0]}");

        Assert.Equal((0, ""), (run.ExitCode, run.Error));
        Assert.Contains("it rejects this caller", run.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("not a server of ProtoRpc", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Without_a_reader_of_the_output_calls_succeed_and_the_server_stops()
    {
        ClosedWriter output = new();
        Task<int> listening = ToolCommand.RunAsync(
            ["listen", "ncacn_ip_tcp:127.0.0.1[0]", "--schema", Listening.Proto("search.proto"), "--echo"],
            new ToolConsole(TextReader.Null, output, TextWriter.Null));
        string endpoint = await output.Endpoint.Task.WaitAsync(Limit);

        ToolRun run = await ToolRun.RunAsync(
            "invoke", endpoint, "Search", "--schema", Listening.Proto("search.proto"), "--set", "query=a");

        Assert.Equal((0, ""), (run.ExitCode, run.Error));
        Assert.Equal(ExitCode.OutputClosed, await listening.WaitAsync(Limit));
    }

    [Theory]
    [InlineData("1,5")]
    [InlineData("1.000,5")]
    [InlineData("soon")]
    public static async Task Seconds_have_no_commas(string text)
    {
        foreach (string option in new[] { "--max-time", "--connect-timeout", "--keepalive-time" })
        {
            ToolRun run = await ToolRun.RunAsync(
                "invoke", "ncalrpc:[NobodyIsHere]", "Search", "--schema", Listening.Proto("search.proto"),
                "--set", "query=a", option, text);

            Assert.Equal(2, run.ExitCode);
            Assert.Contains($"{option} must be seconds (2.5)", run.Error, StringComparison.Ordinal);
        }
    }

    [Fact]
    public static async Task A_reply_that_no_method_can_give_is_refused_at_once()
    {
        ToolRun run = await ToolRun.RunAsync(
            "listen", "ncacn_ip_tcp:127.0.0.1[0]",
            "--schema", Listening.Proto("sample.proto"), "--reply", """{ "no": 1 }""");

        Assert.Equal(1, run.ExitCode);
        Assert.Contains("Sample.MyResponse", run.Error, StringComparison.Ordinal);
    }

    [GeneratedRegex("(?<name>--reply|--template) '(?<value>[^']+)'")]
    private static partial Regex ReplyOption();

    /// <summary>The verb, running until disposed, on a port of its own.</summary>
    private sealed class Listening : IAsyncDisposable
    {
        private readonly CancellationTokenSource _stop = new();
        private readonly StringBuilder _text = new();
        private Task<int> _run = Task.FromResult(0);

        public string Endpoint { get; private set; } = "";

        public string Output
        {
            get
            {
                lock (_text)
                {
                    return _text.ToString();
                }
            }
        }

        public static string Proto(string name) => Path.Combine(ToolRun.Protos, name);

        public static async Task<Listening> StartAsync(string proto, params string[] more)
        {
            Listening listening = new();
            StringWriter error = new();
            ToolConsole console = new(TextReader.Null, new LockedWriter(listening._text), error);
            listening._run = ToolCommand.RunAsync(
                ["listen", "ncacn_ip_tcp:127.0.0.1[0]", "--schema", Proto(proto), .. more],
                console, listening._stop.Token);

            DateTime end = DateTime.UtcNow + Limit;
            while (!listening.Output.Contains("Serving", StringComparison.Ordinal))
            {
                Assert.False(listening._run.IsCompleted, error.ToString());
                Assert.True(DateTime.UtcNow < end, "The listener did not say that it serves.");
                await Task.Delay(10);
            }

            listening.Endpoint = listening.Output.Split('\n')[0].Trim()["Listening on ".Length..];
            return listening;
        }

        public async ValueTask DisposeAsync()
        {
            await _stop.CancelAsync();
            Assert.Equal(0, await _run.WaitAsync(Limit));
            _stop.Dispose();
        }
    }

    /// <summary>Standard output whose reader goes when the server says that it serves.</summary>
    private sealed class ClosedWriter : TextWriter
    {
        private readonly StringBuilder _text = new();

        public TaskCompletionSource<string> Endpoint { get; } =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public override Encoding Encoding => Encoding.UTF8;

        public override void Write(char value)
        {
            if (Endpoint.Task.IsCompleted)
            {
                throw new IOException("Broken pipe");
            }

            _text.Append(value);
        }

        public override void Flush()
        {
            if (_text.ToString() is var text && text.Contains("Ctrl+C", StringComparison.Ordinal))
            {
                Endpoint.TrySetResult(text.Split('\n')[0].Trim()["Listening on ".Length..]);
            }
        }
    }

    /// <summary>A writer that is read while it is written to.</summary>
    private sealed class LockedWriter(StringBuilder text) : TextWriter
    {
        public override Encoding Encoding => Encoding.UTF8;

        public override void Write(char value)
        {
            lock (text)
            {
                text.Append(value);
            }
        }
    }
}
