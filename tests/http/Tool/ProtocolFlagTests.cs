using System.Collections.Concurrent;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>The flags of protorpc for one protocol: <c>--http-get</c> and <c>--grpc-web-text</c>; and names
/// of servers as other gRPC clients write them.</summary>
public sealed class ProtocolFlagTests : IDisposable
{
    private static readonly string ShopProto =
        Path.Combine(AppContext.BaseDirectory, "protos", "shop.proto");

    private readonly ConcurrentQueue<string> _received = [];
    private readonly RpcServer _shop;
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-");

    public ProtocolFlagTests()
    {
        RpcServerOptions options = new()
        {
            Trace = RpcTrace.To(entry => _received.Enqueue($"{entry.IsSent} {entry.Text}")),
        };
        _shop = RpcServer.Create(RpcSchema.Load([ShopProto]), null, options.WithHttp())
            .Handle("Look", (_, request) => new(request))
            .Handle("Buy", (_, request) => new(request))
            .AddEndpoint("http://127.0.0.1:0/")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
    }

    private string Http => $"127.0.0.1:{_shop.Endpoints[0].Port}";

    private string Grpc => $"127.0.0.1:{_shop.Endpoints[1].Port}";

    public void Dispose()
    {
        _shop.Dispose();
        _folder.Delete(recursive: true);
    }

    [Theory]
    [InlineData("Look", true, "GET /")]
    [InlineData("Look", false, "POST /")]
    [InlineData("Buy", true, "POST /")]
    public async Task Connect_calls_without_side_effects_can_be_GET(string method, bool isGet, string sent)
    {
        ClientRun run = await CallAsync($"connect://{Http}", method, isGet ? ["--http-get"] : []);

        Assert.Equal(("{\"name\":\"x\"}\n", 0), (run.Output, run.Code));
        AssertReceived($"False {sent}shop.Shop/{method}");
    }

    [Theory]
    [InlineData(true, "application/grpc-web-text+proto")]
    [InlineData(false, "application/grpc-web+proto")]
    public async Task GRPC_Web_has_a_text_form(bool isText, string type)
    {
        ClientRun run = await CallAsync($"grpcweb://{Http}", "Buy", isText ? ["--grpc-web-text"] : []);

        Assert.Equal(("{\"name\":\"x\"}\n", 0), (run.Output, run.Code));
        AssertReceived($"Content-Type: {type}");
    }

    [Fact]
    public async Task Registered_endpoints_keep_both()
    {
        string file = Path.Combine(_folder.FullName, "endpoints.json");
        RpcEndpointRegistry registry = new(file);
        registry.Register(new("get", RpcEndpoint.Parse($"connect://{Http}"))
        {
            Schema = [ShopProto],
            HttpGet = true,
        });
        registry.Register(new("text", RpcEndpoint.Parse($"grpcweb://{Http}"))
        {
            Schema = [ShopProto],
            Format = "GrpcWebText",
        });
        Dictionary<string, string> environment = new() { [RpcEndpointRegistry.PathVariable] = file };

        ClientRun get = await ClientRun.RunAsync(["call", "get", "Look"], environment: environment);
        ClientRun text = await ClientRun.RunAsync(["call", "text", "Buy"], environment: environment);

        Assert.Equal((0, 0), (get.Code, text.Code));
        AssertReceived("False GET /shop.Shop/Look");
        AssertReceived("grpc-web-text");
    }

    [Theory]
    [InlineData("grpc", "--http-get", "connect:// and connects://")]
    [InlineData("grpcweb", "--http-get", "connect:// and connects://")]
    [InlineData("connect", "--grpc-web-text", "grpcweb:// and grpcwebs://")]
    public async Task A_flag_of_another_protocol_is_refused(string scheme, string flag, string kinds)
    {
        ClientRun run = await CallAsync($"{scheme}://127.0.0.1:1", "Look", flag);

        Assert.Equal(2, run.Code);
        Assert.Contains($"{flag} cannot be used with '{scheme}://", run.Error, StringComparison.Ordinal);
        Assert.Contains(kinds, run.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("dns:///localhost:{0}")]
    [InlineData("dns:localhost:{0}")]
    [InlineData("ipv4:127.0.0.1:{0}")]
    [InlineData("ipv4:127.0.0.1:{0},127.0.0.1:1")]
    public async Task Names_of_gRPC_are_called_without_TLS_on_request(string name)
    {
        string target = string.Format(null, name, _shop.Endpoints[1].Port);

        ClientRun plain = await CallAsync(target, "Buy", "--plaintext");
        ClientRun tls = await CallAsync(target, "Buy");

        Assert.Equal(("{\"name\":\"x\"}\n", 0), (plain.Output, plain.Code));
        Assert.Equal(78, tls.Code);
        ClientRun both = await CallAsync($"grpcs://{Grpc}", "Buy", "--plaintext");
        Assert.Contains("--plaintext", both.Error, StringComparison.Ordinal);
    }

    private void AssertReceived(string part) =>
        Assert.Contains(_received, text => text.Contains(part, StringComparison.Ordinal));

    private static Task<ClientRun> CallAsync(string endpoint, string method, params string[] further) =>
        ClientRun.RunAsync(
        [
            "call", endpoint, method, "--schema", ShopProto, "--set", "name=x", "--compact", .. further,
        ]);
}
