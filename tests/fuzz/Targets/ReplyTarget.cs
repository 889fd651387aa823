using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A client whose server answers anything, over HTTP or gRPC.</summary>
internal sealed class ReplyTarget : FuzzTarget
{
    private const byte GrpcStatusOk = 0;
    private readonly RepliesHandler _server = new();
    private readonly RpcClient _client;
    private readonly RpcMethodInfo _method;
    private readonly DynamicMessage _request;

    public ReplyTarget(string name, string endpoint)
    {
        Name = name;
        _method = MessageTypes.RandomDescriptorSets
            .SelectMany(set => RpcSchema.FromDescriptorSet(set).Services[0].Methods)
            .First(method => method.IsUnary);
        _request = new DynamicMessage(_method.RequestType);
        _client = RpcClient.Connect(endpoint, _method.Service.Schema, new RpcClientOptions
        {
            HttpHandler = () => _server,
            Lazy = true,
            Service = _method.Service.FullName,
        });
    }

    public override string Name { get; }

    public override string Promise => "each call ends with a message or an error of the call";

    // Calls end on threads of the pool.
    public override bool IsGuided => false;

    public override IMutator Mutator { get; } = new TextMutator(
        "{\"error\":{\"code\":5,\"message\":\"x\",\"details\":[{\"@type\":\"x\"}]}}", "{", "}",
            "\0\0\0\0\u0002");

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] message = new Tests.Messages.RandomMessages(3).Make(_method.ReplyType).ToByteArray();
        byte[] frame = [0, 0, 0, (byte)(message.Length >> 8), (byte)message.Length, .. message];
        for (byte status = 0; status < 13; status++)
        {
            for (byte type = 0; type < 10; type++)
            {
                yield return RepliesHandler.Reply(status, type, [GrpcStatusOk], type < 2 ? frame : message);
            }

            yield return RepliesHandler.Reply(status, 3, [], RepliesHandler.Bytes("{}"));
            yield return RepliesHandler.Reply(status, 4, [], RepliesHandler.Bytes("<root/>"));
            yield return RepliesHandler.Reply(status, 0, [1, 5, 4], []);
            yield return RepliesHandler.Reply(status, 0, [129, 133, 132], []);
        }
    }

    public override bool Run(byte[] input, Meter meter)
    {
        _server.Input = input;
        return Accepts(() => _client.Invoke(_method, _request));
    }

    public override void Dispose() => _client.Dispose();
}
