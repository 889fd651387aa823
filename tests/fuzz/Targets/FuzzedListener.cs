using Google.Protobuf;
using ProtoRpc.Fuzz.Engine;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>A listener with an HTTP and a gRPC endpoint, which hostile connections share with a client that
/// means well.</summary>
internal sealed class FuzzedListener : IDisposable
{
    /// <summary>What every text of the other client begins with, and no input.</summary>
    public const string Secret = "other-client-";

    private const int BetweenCalls = 64;
    private const int BetweenMeasures = 512;
    private const int Measures = 8;
    private const int LeakBytes = 1024 * 1024;

    private static readonly RpcSchema Schema = RpcSchema.Load(
        [Path.Combine(AppContext.BaseDirectory, "protos", "fuzzed.proto")]);

    private static readonly RpcMessageInfo ItemType = Schema.GetMessage("fuzzed.Item");
    private static readonly RpcFieldInfo NameField = ItemType.FindField("name")!;

    private readonly RpcServer _server;
    private readonly RpcClient[] _clients;
    private int _inputs;
    private int _calls;
    private long _memory;
    private int _grown;

    public FuzzedListener()
    {
        RpcServerOptions options = new()
        {
            Limits = new RpcLimits
            {
                MaxMessageBytes = 64 * 1024,
                BindTimeout = TimeSpan.FromSeconds(2),
                FragmentTimeout = TimeSpan.FromSeconds(2),
            },
        };
        _server = RpcServer.Create(Schema, "fuzzed.Shop", options.WithHttp())
            .Handle("Echo", (_, request) => ValueTask.FromResult<IMessage>(Answer(request)))
            .HandleStreaming("Split", async (_, stream) => await AnswerAllAsync(stream, 2))
            .HandleStreaming("Join", JoinAsync)
            .HandleStreaming("Chat", async (_, stream) => await AnswerAllAsync(stream, 1))
            .AddEndpoint("http://127.0.0.1:0/")
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        _clients = [.. _server.Endpoints.Select(endpoint => RpcClient.Connect(
            endpoint, Schema, new RpcClientOptions { Service = "fuzzed.Shop" }))];
    }

    public int HttpPort => _server.Endpoints[0].Port;

    public int GrpcPort => _server.Endpoints[1].Port;

    /// <summary>Bytes of a request.</summary>
    public static byte[] Request(string name) => Item(name).ToByteArray();

    /// <summary>Called after each input: now and then the other client calls, and memory is
    /// measured.</summary>
    /// <exception cref="InvariantException">A call fails, or each of many measures is higher than the one
    /// before.</exception>
    public void Check()
    {
        if (++_inputs % BetweenCalls == 1)
        {
            foreach (RpcClient client in _clients)
            {
                CallAsOther(client);
            }
        }

        if (_inputs % BetweenMeasures == 0)
        {
            GC.Collect();
            long memory = GC.GetTotalMemory(forceFullCollection: false);
            _grown = _memory > 0 && memory > _memory + LeakBytes ? _grown + 1 : 0;
            _memory = memory;
            if (_grown >= Measures)
            {
                throw new InvariantException($"memory does not grow: it grew {Measures} times in a row");
            }
        }
    }

    public void Dispose()
    {
        foreach (RpcClient client in _clients)
        {
            client.Dispose();
        }

        _server.Dispose();
    }

    private void CallAsOther(RpcClient client)
    {
        string name = $"{Secret}{++_calls}";
        try
        {
            IMessage reply = client.Invoke(client.GetMethod("Echo"), Item(name));
            string answer = (string)((DynamicMessage)reply).Get(NameField)!;
            if (answer != name)
            {
                throw new InvariantException($"the other client gets its own answer: {name} became {answer}");
            }
        }
        catch (RpcException e)
        {
            throw new InvariantException($"the other client is answered: {e}");
        }
    }

    // Of requests only their lengths come back, so that an answer never looks like something else.
    private static DynamicMessage Answer(IMessage request)
    {
        string name = (string)((DynamicMessage)request).Get(NameField)!;
        return Item(name.StartsWith(Secret, StringComparison.Ordinal) ? name : $"{name.Length}");
    }

    private static async ValueTask AnswerAllAsync(RpcServerStream stream, int times)
    {
        while (await stream.ReadAsync() is { } request)
        {
            for (int i = 0; i < times; i++)
            {
                await stream.WriteAsync(Answer(request));
            }
        }
    }

    private static async ValueTask JoinAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        int count = 0;
        while (await stream.ReadAsync() is not null)
        {
            count++;
        }

        await stream.WriteAsync(Item($"{count}"));
    }

    private static DynamicMessage Item(string name)
    {
        DynamicMessage item = new(ItemType);
        item.Set(NameField, name);
        return item;
    }
}
