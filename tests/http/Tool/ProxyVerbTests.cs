using System.Text;
using ProtoRpc.Tool;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary><c>protorpc proxy</c>.</summary>
public static class ProxyVerbTests
{
    private const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);
    private static readonly string Schema = Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto");

    [Fact]
    public static async Task Puts_http_and_grpc_before_a_native_endpoint()
    {
        using WordsServer server = new(Tcp);
        await using Proxy proxy = await Proxy.StartAsync(
            "http://127.0.0.1:0/", "grpc://127.0.0.1:0", $"{server.Endpoint}",
            "--schema", Schema, "--service", "streams.Words");

        foreach (string endpoint in proxy.Endpoints)
        {
            using RpcClient caller = RpcClient.Connect(
                endpoint, WordsServer.Schema, new() { Service = "streams.Words" });
            Assert.Equal("hi", WordsServer.TextOf(await caller.InvokeAsync("Say", WordsServer.Text("hi"))));
        }

        Assert.Contains(
            $"Passing streams.Words on to {server.Endpoint}", proxy.Output, StringComparison.Ordinal);
        Assert.Equal(2, proxy.Endpoints.Count);
    }

    [Fact]
    public static async Task Asks_the_server_for_its_schema_where_none_is_given()
    {
        using WordsServer server = new("grpc://127.0.0.1:0");
        await using Proxy proxy = await Proxy.StartAsync(Tcp, $"{server.Endpoint}");
        using RpcClient caller = RpcClient.Connect(
            proxy.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });

        Assert.Equal("hi", WordsServer.TextOf(await caller.InvokeAsync("Say", WordsServer.Text("hi"))));
        Assert.Contains("streams.Words", proxy.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("grpc.reflection", proxy.Output, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Lets_calls_that_run_end_when_it_is_stopped()
    {
        using WordsServer server = new("grpc://127.0.0.1:0");
        Proxy proxy = await Proxy.StartAsync(Tcp, $"{server.Endpoint}");
        using RpcClient caller = RpcClient.Connect(
            proxy.Endpoints[0], WordsServer.Schema, new() { Service = "streams.Words" });
        Task<DynamicMessage> waiting = caller.InvokeAsync(
            "Say", WordsServer.Text("wait"), new() { Timeout = TimeSpan.FromSeconds(2) });
        await server.Waiting.Task.WaitAsync(Limit);

        await proxy.DisposeAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => waiting);
        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [Theory]
    [InlineData(2, "behind them", "grpc://127.0.0.1:0")]
    [InlineData(2, "--schema", "grpc://127.0.0.1:0", "tcp://127.0.0.1:1")]
    [InlineData(2, "nowhere", "grpc://127.0.0.1:0", "nowhere")]
    public static async Task Says_what_is_wrong_with_its_arguments(
        int code, string text, params string[] arguments)
    {
        StringWriter error = new();

        int exit = await ToolCommand.RunAsync(
            ["proxy", .. arguments], new ToolConsole(TextReader.Null, TextWriter.Null, error));

        Assert.Equal(code, exit);
        Assert.Contains(text, error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Ends_when_the_server_is_not_there()
    {
        using WordsServer server = new("grpc://127.0.0.1:0");
        RpcEndpoint gone = server.Endpoint;
        await server.Server.StopAsync(TimeSpan.Zero);
        StringWriter error = new();

        int exit = await ToolCommand.RunAsync(
            ["proxy", Tcp, $"{gone}", "--schema", Schema, "--deadline", "2"],
            new ToolConsole(TextReader.Null, TextWriter.Null, error));

        Assert.NotEqual(0, exit);
        Assert.Contains($"{gone}", error.ToString(), StringComparison.Ordinal);
    }

    /// <summary>The verb, running until disposed.</summary>
    private sealed class Proxy : IAsyncDisposable
    {
        private const string Listening = "Listening on ";
        private readonly CancellationTokenSource _stop = new();
        private readonly LockedWriter _text = new();
        private Task<int> _run = Task.FromResult(0);

        public string Output => _text.Text;

        public IReadOnlyList<string> Endpoints =>
        [
            .. Output.Split('\n').Where(line => line.StartsWith(Listening, StringComparison.Ordinal))
                .Select(line => line[Listening.Length..].Trim()),
        ];

        public static async Task<Proxy> StartAsync(params string[] arguments)
        {
            Proxy proxy = new();
            StringWriter error = new();
            proxy._run = ToolCommand.RunAsync(
                ["proxy", .. arguments], new ToolConsole(TextReader.Null, proxy._text, error),
                proxy._stop.Token);
            DateTime end = DateTime.UtcNow + Limit;
            while (!proxy.Output.Contains("Passing", StringComparison.Ordinal))
            {
                Assert.False(proxy._run.IsCompleted, error.ToString());
                Assert.True(DateTime.UtcNow < end, "The proxy did not say that it serves.");
                await Task.Delay(10);
            }

            return proxy;
        }

        public async ValueTask DisposeAsync()
        {
            await _stop.CancelAsync();
            Assert.Equal(0, await _run.WaitAsync(Limit));
            _stop.Dispose();
        }
    }

    /// <summary>A writer that is read while it is written to.</summary>
    private sealed class LockedWriter : TextWriter
    {
        private readonly StringBuilder _text = new();

        public override Encoding Encoding => Encoding.UTF8;

        public string Text
        {
            get
            {
                lock (_text)
                {
                    return _text.ToString();
                }
            }
        }

        public override void Write(char value)
        {
            lock (_text)
            {
                _text.Append(value);
            }
        }
    }
}
