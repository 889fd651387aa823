using ProtoRpc.Calls;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Calls Benchmark.SampleService/Test with a message that was made before.</summary>
internal sealed class RpcCaller : ICaller
{
    private readonly RpcClient _client;
    private readonly RpcMethodInfo _method;
    private readonly DynamicMessage _request;

    public RpcCaller(string endpoint, RpcSchema schema, int records)
    {
        _client = RpcClient.Connect(endpoint, schema);
        _method = _client.GetMethod("Test");
        _request = SampleData.Dynamic(_method.RequestType, records);
    }

    public void Call() => _client.Invoke(_method, _request);

    public void Dispose() => _client.Dispose();

    /// <summary>The server of these callers: every reply has as many records as it is told here.</summary>
    public static RpcServer Serve(RpcSchema schema, string endpoint, int records)
    {
        DynamicMessage reply = SampleData.Dynamic(schema.GetMethod("Test").ReplyType, records);
        return RpcServer.Create(schema)
            .Handle("Test", (_, _) => new ValueTask<Google.Protobuf.IMessage>(reply))
            .AddEndpoint(endpoint)
            .StartListening();
    }
}
