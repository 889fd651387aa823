namespace ProtoRpc.Interop;

/// <summary>The clients for browsers of Connect and gRPC-Web, in a browser, on a page of another
/// origin.</summary>
public static class WebClientTests
{
    private static readonly RpcSchema ShopSchema = RpcSchema.Load(
        [Path.Combine(AppContext.BaseDirectory, "protos", "shop.proto")]);

    [PeerCall(
        "@connectrpc/connect-web", "Connect", PeerSide.Client, PeerCalls.Unary | PeerCalls.ServerStream
            | PeerCalls.Errors | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines
            | PeerCalls.Cancellation | PeerCalls.Get)]
    [PeerCall(
        "@connectrpc/connect-web", "gRPC-Web", PeerSide.Client, PeerCalls.Unary | PeerCalls.ServerStream
            | PeerCalls.Errors | PeerCalls.ErrorDetails | PeerCalls.Metadata | PeerCalls.Deadlines
            | PeerCalls.Cancellation)]
    [PeerTheory(Peer.WebConnect)]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, true)]
    public static async Task Connect_calls_our_listener(bool grpcWeb, bool binary)
    {
        await using WebPage page = await WebPage.StartAsync(
            ("streams.bin", WordsServer.Schema), ("shop.bin", ShopSchema));
        HttpServerOptions http = new() { AllowedOrigins = [page.Origin] };
        using WordsServer words = new("http://127.0.0.1:0/", http: http);
        using RpcServer shop = RpcServer
            .Create(ShopSchema, "shop.Shop", new RpcServerOptions().WithHttp(http))
            .Handle("Look", (_, request) => ValueTask.FromResult(request))
            .Handle("Buy", (_, request) => ValueTask.FromResult(request))
            .AddEndpoint("http://127.0.0.1:0/")
            .StartListening();

        string[] outcomes = await RunAsync(
            page, "connect_web_client.mjs",
            $"'{UrlOf(words.Endpoint)}', '{UrlOf(shop.Endpoints[0])}', "
            + $"{{ grpcWeb: {Script(grpcWeb)}, binary: {Script(binary)} }}");

        Assert.Equal(8, outcomes.Length);
        Assert.All(outcomes, outcome => Assert.EndsWith(" passed", outcome, StringComparison.Ordinal));
    }

    [PeerCall(
        "grpc-web", "gRPC-Web", PeerSide.Client, PeerCalls.Unary | PeerCalls.ServerStream
            | PeerCalls.Errors | PeerCalls.Metadata | PeerCalls.Deadlines)]
    [PeerTheory(Peer.WebGrpc)]
    [InlineData("binary")]
    [InlineData("text")]
    public static async Task Grpc_web_calls_our_listener(string format)
    {
        await using WebPage page = await WebPage.StartAsync(("streams.bin", WordsServer.Schema));
        using WordsServer words = new(
            "http://127.0.0.1:0/", http: new() { AllowedOrigins = [page.Origin] });

        string[] outcomes = await RunAsync(
            page, "grpc_web_client.mjs", $"'{UrlOf(words.Endpoint)}', '{format}'");

        Assert.Equal(6, outcomes.Length);
        Assert.All(outcomes, outcome => Assert.EndsWith(" passed", outcome, StringComparison.Ordinal));
    }

    private static async Task<string[]> RunAsync(WebPage page, string module, string arguments)
    {
        await using Browser browser = await Browser.StartAsync();
        await browser.OpenAsync(page.Address);
        return (await browser.EvaluateAsync(
            $"import('/{module}').then(client => client.run({arguments}))")).Split('\n');
    }

    private static string UrlOf(RpcEndpoint endpoint) => endpoint.Uri.TrimEnd('/');

    private static string Script(bool value) => value ? "true" : "false";
}
