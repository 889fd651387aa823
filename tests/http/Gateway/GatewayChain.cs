namespace ProtoRpc.Http.Tests.Gateway;

/// <summary>A caller, a gateway and the server of streams.proto, each on an endpoint of its own.</summary>
internal sealed class GatewayChain : IDisposable
{
    public const string Tcp = "ncacn_ip_tcp:127.0.0.1[0]";
    public const string Http = "http://127.0.0.1:0/";
    public const string Grpc = "grpc://127.0.0.1:0";

    public GatewayChain(
        string front, string back, RpcGatewayOptions? options = null, RpcServerOptions? serverOptions = null,
        RpcServerOptions? backOptions = null, RpcClientOptions? callerOptions = null)
    {
        Server = new WordsServer(Unique(back), backOptions);
        Client = Server.Connect();
        Gateway = RpcServer.Create(
                WordsServer.Schema, "streams.Words", (serverOptions ?? new RpcServerOptions()).WithHttp())
            .Forward(Client, options, "streams.Words")
            .AddEndpoint(Unique(front))
            .StartListening();
        Caller = RpcClient.Connect(
            Gateway.Endpoints[0], WordsServer.Schema,
            (callerOptions ?? new()) with { Service = "streams.Words" });
    }

    public WordsServer Server { get; }

    public RpcClient Client { get; }

    public RpcServer Gateway { get; }

    public RpcClient Caller { get; }

    public async Task<string> SayAsync(
        string text, RpcCallOptions? options = null, CancellationToken stop = default) =>
        WordsServer.TextOf(await Caller.InvokeAsync("Say", WordsServer.Text(text), options, stop));

    public async Task<RpcException> FailsAsync(
        string text, RpcCallOptions? options = null, CancellationToken stop = default) =>
        await Assert.ThrowsAsync<RpcException>(() => SayAsync(text, options, stop));

    public void Dispose()
    {
        Caller.Dispose();
        Gateway.Dispose();
        Client.Dispose();
        Server.Dispose();
    }

    /// <summary>Each endpoint before each.</summary>
    public static TheoryData<string, string> Pairs(params string[] endpoints)
    {
        TheoryData<string, string> pairs = [];
        foreach (string front in endpoints)
        {
            Array.ForEach(endpoints, back => pairs.Add(front, back));
        }

        return pairs;
    }

    private static string Unique(string endpoint) =>
        endpoint == "inproc" ? $"inproc://{Guid.NewGuid():N}" : endpoint;
}
