using Google.Protobuf;
using ProtoRpc.Benchmarks.Messages;
using ProtoRpc.Benchmarks.Security;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>Calls Benchmark.SampleService/Test with a message made for the call, and counts the records of
/// the reply.</summary>
internal sealed class FreshCaller : ICaller
{
    private readonly RpcClient _client;
    private readonly RpcMethodInfo _method;
    private readonly Func<int> _call;
    private readonly int _records;

    /// <param name="kind">Of what the messages are made: see <see cref="CallKind.IsFresh"/>.</param>
    /// <param name="endpoint">Where the server is.</param>
    /// <param name="schema">The benchmark's schema.</param>
    /// <param name="records">How many records each request has.</param>
    public FreshCaller(string kind, string endpoint, RpcSchema schema, int records)
    {
        _records = records;
        _client = RpcClient.Connect(
            endpoint, schema,
            new RpcClientOptions { Security = CallSecurity.OfClient(CallKind.SecurityOf(kind)) });
        _method = _client.GetMethod("Test");
        DynamicRecords requests = new(_method.RequestType);
        DynamicRecords replies = new(_method.ReplyType);
        _call = CallKind.MessagesOf(kind) switch
        {
            CallKind.Generated => CallGenerated,
            CallKind.Dynamic => () => replies.Count(_client.Invoke(_method, requests.Make(records))),
            _ => () => replies.Count(_client.Invoke(_method, FreshRecords.Fields(records))),
        };
    }

    public void Call()
    {
        if (_call() is var count && count != _records)
        {
            throw new InvalidDataException($"The reply has {count} records, not {_records}.");
        }
    }

    public void Dispose() => _client.Dispose();

    /// <summary>The server of these callers, which makes each reply when it is called.</summary>
    /// <param name="kind">Of what the replies are made.</param>
    /// <param name="schema">The benchmark's schema.</param>
    /// <param name="endpoint">Where to listen.</param>
    /// <param name="records">How many records each reply has.</param>
    /// <param name="service">The name of the service; null for the only one of the schema.</param>
    public static RpcServer Serve(
        string kind, RpcSchema schema, string endpoint, int records, string? service = null)
    {
        RpcServerOptions options = new() { Security = CallSecurity.OfServer(CallKind.SecurityOf(kind)) };
        RpcServer server = RpcServer.Create(schema, service, options.WithHttp());
        RpcMessageInfo type = schema.FindMessage("Benchmark.SampleResponse")!;
        DynamicRecords replies = new(type);
        MessageMapper mapper = new();
        _ = CallKind.MessagesOf(kind) switch
        {
            CallKind.Generated when CallKind.SecurityOf(kind) == CallSecurity.Impersonated =>
                server.Handle<SampleRequest, SampleResponse>("Test", (context, _) =>
                {
                    SampleResponse? reply = null;
                    context.Impersonate(() => reply = GeneratedReply(records));
                    return reply!;
                }),
            CallKind.Generated => server.Handle<SampleRequest, SampleResponse>(
                "Test", (_, _) => GeneratedReply(records)),
            CallKind.Dynamic => server.Handle(
                "Test", (_, _) => new ValueTask<IMessage>(replies.Make(records))),
            _ => server.Handle(
                "Test", (_, _) => new ValueTask<IMessage>(
                    mapper.ToMessage(type, FreshRecords.Fields(records)))),
        };
        return server.AddEndpoint(endpoint).StartListening();
    }

    private int CallGenerated()
    {
        SampleRequest request = new();
        FreshRecords.Fill(request.Data, _records);
        return _client.Invoke<SampleResponse>(_method, request).Data.Count;
    }

    private static SampleResponse GeneratedReply(int records)
    {
        SampleResponse reply = new();
        FreshRecords.Fill(reply.Data, records);
        return reply;
    }
}
