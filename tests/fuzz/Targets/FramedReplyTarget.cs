using ProtoRpc.Fuzz.Engine;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A client of Connect or gRPC-Web whose server answers anything. The first byte chooses the method
/// and the format; the rest is an input of <see cref="RepliesHandler"/>.</summary>
internal sealed class FramedReplyTarget : FuzzTarget
{
    private const byte GrpcStatusOk = 0;
    private const byte ConnectEnd = 0x02;
    private const byte Trailers = 0x80;

    // After the byte of the method: the status, the type, the number of headers, the headers.
    private const int HeadLength = 4;
    private const int MaxHeaders = 4;

    private static readonly RpcSchema Schema = RpcSchema.Load(
        [Path.Combine(AppContext.BaseDirectory, "protos", "fuzzed.proto")]);

    private static readonly DynamicMessage Request = new(Schema.GetMessage("fuzzed.Item"));

    private readonly RepliesHandler _server = new();
    private readonly RpcClient[] _clients;

    /// <param name="name">The name of the target.</param>
    /// <param name="endpoint">The endpoint, whose scheme is that of the protocol.</param>
    /// <param name="clients">The options of the clients.</param>
    public FramedReplyTarget(string name, string endpoint, params RpcClientOptions[] clients)
    {
        Name = name;
        _clients = [.. clients.Select(options => RpcClient.Connect(endpoint, Schema, options with
        {
            HttpHandler = () => _server,
            Lazy = true,
            Service = "fuzzed.Shop",
        }))];
    }

    public override string Name { get; }

    public override string Promise => "each call ends with messages or an error of the call";

    // Calls end on threads of the pool.
    public override bool IsGuided => false;

    public override IMutator Mutator { get; } = new FrameMutator(
        static input => input.Length < HeadLength
            ? input.Length
            : HeadLength + (input[HeadLength - 1] % MaxHeaders));

    public override IEnumerable<byte[]> Seeds()
    {
        byte[] item = FuzzedListener.Request("a");
        byte[] json = [.. """{"name":"a","inner":{"tags":["b"]}}"""u8];
        byte[] end = [.. """{"metadata":{"a":["b"]}}"""u8];
        byte[] error = [.. """
            {"error":{"code":"aborted","message":"x","details":[{"type":"fuzzed.Item","value":"CgFh"}]}}
            """u8];
        byte[] trailers =
        [
            .. "grpc-status: 5\r\ngrpc-message: x%20y\r\ngrpc-status-details-bin: CAUSA2FiYw\r\n"u8,
        ];
        for (byte method = 0; method < 6; method++)
        {
            for (byte type = 0; type < RepliesHandler.TypeCount; type++)
            {
                yield return [method, .. RepliesHandler.Reply(0, type, [GrpcStatusOk], item)];
            }

            foreach (byte[] message in new[] { item, json })
            {
                foreach (byte[] last in new[] { end, error })
                {
                    yield return
                    [
                        method, .. RepliesHandler.Reply(
                            0, RepliesHandler.FirstStreamType, [RepliesHandler.ConnectGzip],
                            [.. FrameMutator.Write(0, message), .. FrameMutator.Write(ConnectEnd, last)]),
                    ];
                    yield return
                    [
                        method, .. RepliesHandler.Reply(
                            0, RepliesHandler.FirstStreamType + 1, [],
                            [.. FrameMutator.Write(0, message), .. FrameMutator.Write(ConnectEnd, last)]),
                    ];
                }
            }

            foreach (byte[] last in new[] { trailers, [.. "grpc-status: 0\r\n"u8] })
            {
                byte[] web = [.. FrameMutator.Write(0, item), .. FrameMutator.Write(Trailers, last)];
                yield return
                    [method, .. RepliesHandler.Reply(0, RepliesHandler.FirstStreamType + 3, [], web)];
                yield return
                [
                    method, .. RepliesHandler.Reply(
                        0, RepliesHandler.FirstStreamType + 4, [],
                        RepliesHandler.Bytes(Convert.ToBase64String(web))),
                ];
            }

            yield return [method, .. RepliesHandler.Reply(6, 3, [], error[9..^2])];
        }
    }

    public override bool Run(byte[] input, Meter meter)
    {
        Tail tail = new(input);
        int choice = tail.Byte();
        _server.Input = tail.Rest.ToArray();
        RpcClient client = _clients[choice / 3 % _clients.Length];
        return Accepts(() => CallAsync(client, choice % 3).GetAwaiter().GetResult());
    }

    public override void Dispose()
    {
        foreach (RpcClient client in _clients)
        {
            client.Dispose();
        }
    }

    private static async Task CallAsync(RpcClient client, int method)
    {
        switch (method)
        {
            case 0:
                await client.InvokeAsync(client.GetMethod("Echo"), Request);
                break;
            case 1:
                await foreach (DynamicMessage reply in client.InvokeServerStreamAsync("Split", Request))
                {
                    _ = reply.Type;
                }

                break;
            default:
                await client.InvokeClientStreamAsync("Join", RequestsAsync());
                break;
        }
    }

    private static async IAsyncEnumerable<object> RequestsAsync()
    {
        await Task.Yield();
        yield return Request;
    }
}
