using System.Collections.Concurrent;
using System.Net.Http.Headers;

namespace ProtoRpc.Http.Tests;

/// <summary>The header User-Agent of requests over HTTP.</summary>
public static class UserAgentTests
{
    private static readonly string Own =
        $"protorpc/{typeof(RpcClient).Assembly.GetName().Version!.ToString(3)}";

    [Fact]
    public static void Names_the_product_with_its_version()
    {
        ProductInfoHeaderValue value = ProductInfoHeaderValue.Parse(Own);

        Assert.Equal("protorpc", value.Product!.Name);
        Assert.Matches(@"^\d+\.\d+\.\d+$", value.Product.Version);
    }

    [Theory]
    [InlineData("http://{0}/")]
    [InlineData("connect://{0}")]
    [InlineData("grpcweb://{0}")]
    [InlineData("grpc://{0}")]
    public static async Task Every_kind_of_call_sends_it(string form)
    {
        ConcurrentQueue<string> agents = [];
        using RpcServer server = Serve(agents);
        int index = form.StartsWith("grpc:", StringComparison.Ordinal) ? 1 : 0;
        string endpoint = string.Format(null, form, $"127.0.0.1:{server.Endpoints[index].Port}");
        using RpcClient client = Connect(endpoint);
        RpcCallOptions ofCaller = new() { Headers = new() { { "user-agent", "shop/2 (test)" } } };

        client.Invoke("Say", WordsServer.Text("x"));
        await client.InvokeServerStreamAsync("Split", WordsServer.Text("x")).CountAsync();
        client.Invoke("Say", WordsServer.Text("x"), ofCaller);
        await client.InvokeServerStreamAsync("Split", WordsServer.Text("x"), ofCaller).CountAsync();

        Assert.Equal([Own, Own, $"shop/2 (test) {Own}", $"shop/2 (test) {Own}"], agents);
    }

    [Fact]
    public static void Headers_of_the_client_stand_before_it()
    {
        ConcurrentQueue<string> agents = [];
        using RpcServer server = Serve(agents);
        RpcMetadata headers = new() { { "User-Agent", "shop/2" } };

        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            using RpcClient client = Connect(endpoint.Uri, new() { Headers = headers });
            client.Invoke("Say", WordsServer.Text("x"));
        }

        Assert.Equal([$"shop/2 {Own}", $"shop/2 {Own}"], agents);
    }

    [Fact]
    public static async Task Pings_REST_and_files_of_a_schema_send_it()
    {
        Recorder recorder = new();
        RpcClientOptions options = new() { HttpHandler = () => recorder, Lazy = true };
        using RestServer rest = new();
        using (RpcClient client = RpcClient.Connect(
            $"rest://127.0.0.1:{rest.Server.Endpoints[0].Port}", RestProtos.Library, options))
        {
            await client.PingAsync();
            await client.InvokeAsync("GetShelf", new { name = "a" });
        }

        using WordsServer words = new("http://127.0.0.1:0/");
        RpcHttpSchema.Load(new Uri($"{words.Endpoint.Uri}streams.proto"), options);

        Assert.True(recorder.Agents.Count >= 3);
        Assert.All(recorder.Agents, agent => Assert.Equal(Own, agent));
    }

    private static RpcServer Serve(ConcurrentQueue<string> agents)
    {
        void Note(RpcServerCallContext context) =>
            agents.Enqueue(context.RequestHeaders.GetText("user-agent") ?? "none");

        return RpcServer.Create(WordsServer.Schema, "streams.Words", new RpcServerOptions().WithHttp())
            .Handle("Say", (context, request) =>
            {
                Note(context);
                return new(request);
            })
            .HandleStreaming("Split", async (context, stream) =>
            {
                Note(context);
                await stream.WriteAsync(WordsServer.Text("x"));
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
    }

    private static RpcClient Connect(string endpoint, RpcClientOptions? options = null) => RpcClient.Connect(
        endpoint, WordsServer.Schema, (options ?? new()) with { Service = "streams.Words" });

    private sealed class Recorder() : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
    {
        public ConcurrentQueue<string> Agents { get; } = [];

        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            Agents.Enqueue(request.Headers.UserAgent.ToString());
            return base.SendAsync(request, cancellationToken);
        }

        // A client disposes its handler, and the next one uses it again.
        protected override void Dispose(bool disposing)
        {
        }
    }
}
