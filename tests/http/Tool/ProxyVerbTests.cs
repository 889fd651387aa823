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
        await using ToolProcess proxy = await StartAsync(
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
        await using ToolProcess proxy = await StartAsync(Tcp, $"{server.Endpoint}");
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
        ToolProcess proxy = await StartAsync(Tcp, $"{server.Endpoint}");
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

    private static Task<ToolProcess> StartAsync(params string[] arguments) =>
        ToolProcess.StartAsync(environment: null, ["proxy", .. arguments]);
}
