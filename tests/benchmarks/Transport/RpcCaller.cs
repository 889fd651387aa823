namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Calls Benchmark.SampleService/Test with a message that was made before.</summary>
internal sealed class RpcCaller : ICaller
{
    private readonly RpcClient _client;
    private readonly RpcMethodInfo _method;
    private readonly DynamicMessage _request;

    /// <param name="endpoint">Where the server is.</param>
    /// <param name="schema">The benchmark's schema.</param>
    /// <param name="records">How many records each request has.</param>
    /// <param name="security">As whom to call; null for nobody.</param>
    public RpcCaller(string endpoint, RpcSchema schema, int records, RpcClientSecurity? security = null)
    {
        RpcClientOptions options = new() { Security = security ?? RpcClientSecurity.Anonymous };
        _client = RpcClient.Connect(endpoint, schema, options);
        _method = _client.GetMethod("Test");
        _request = SampleData.Dynamic(_method.RequestType, records);
    }

    public void Call() => _client.Invoke(_method, _request);

    public void Dispose() => _client.Dispose();

    /// <summary>The server of these callers: every reply has as many records as it is told here.</summary>
    public static RpcServer Serve(
        RpcSchema schema, string endpoint, int records, RpcServerSecurity? security = null)
    {
        DynamicMessage reply = SampleData.Dynamic(schema.GetMethod("Test").ReplyType, records);
        RpcServerOptions options = new() { Security = security ?? RpcServerSecurity.Anonymous };
        return RpcServer.Create(schema, options: options.WithHttp())
            .Handle("Test", (_, _) => new ValueTask<Google.Protobuf.IMessage>(reply))
            .AddEndpoint(endpoint)
            .StartListening();
    }
}
