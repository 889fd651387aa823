using Google.Protobuf;
using ProtoRpc.Calls;
using ProtoRpc.Messages;
using ProtoRpc.Schema;

namespace ProtoRpc.Interop;

/// <summary>gRPC's official interoperability test cases, by name, of our client against somebody's server.</summary>
public abstract class GrpcInteropTests : IAsyncLifetime
{
    private static readonly int[] RequestSizes = [27182, 8, 1828, 45904];
    private static readonly int[] ResponseSizes = [31415, 9, 2653, 58979];

    private IInteropServer? _server;
    private RpcClient? _client;

    private RpcClient Client => _client!;

    public async Task InitializeAsync()
    {
        if (Peers.WhyMissing(Peer.Grpc) is null)
        {
            _server = await StartAsync();
            _client = _server.Connect();
        }
    }

    public Task DisposeAsync()
    {
        _client?.Dispose();
        _server?.Dispose();
        return Task.CompletedTask;
    }

    [PeerFact(Peer.Grpc)]
    public void empty_unary()
    {
        DynamicMessage reply = Client.Invoke(Client.GetMethod("EmptyCall"), Message("Empty"));

        Assert.Empty(reply.ToByteArray());
    }

    [PeerFact(Peer.Grpc)]
    public void large_unary()
    {
        DynamicMessage reply = Client.Invoke(Client.GetMethod("UnaryCall"), Large());

        Assert.Equal(314159, BodyLength(reply));
    }

    [PeerFact(Peer.Grpc)]
    public async Task client_streaming()
    {
        List<DynamicMessage> replies = await CallAsync(
            "StreamingInputCall", RequestSizes.Select(size => Message("StreamingInputCallRequest", Payload(size))));

        Assert.Equal(74922, Value(Assert.Single(replies), "aggregated_payload_size"));
    }

    [PeerFact(Peer.Grpc)]
    public async Task server_streaming()
    {
        List<DynamicMessage> replies = await CallAsync("StreamingOutputCall", [Output(ResponseSizes)]);

        Assert.Equal(ResponseSizes, replies.Select(BodyLength));
    }

    [PeerFact(Peer.Grpc)]
    public async Task ping_pong()
    {
        await using RpcStreamingCall call = Client.Open(Client.GetMethod("FullDuplexCall"));
        for (int i = 0; i < RequestSizes.Length; i++)
        {
            Assert.True(await call.SendAsync(Output([ResponseSizes[i]], RequestSizes[i])));
            Assert.True(await call.ReadAsync());
            Assert.Equal(ResponseSizes[i], BodyLength(call.Current));
        }

        await call.CompleteAsync();
        Assert.False(await call.ReadAsync());
    }

    [PeerFact(Peer.Grpc)]
    public async Task empty_stream() => Assert.Empty(await CallAsync("FullDuplexCall", []));

    [PeerFact(Peer.Grpc)]
    public void client_compressed_unary()
    {
        foreach (RpcCompression compression in new[] { RpcCompression.Gzip, RpcCompression.None })
        {
            DynamicMessage reply = Client.Invoke(
                Client.GetMethod("UnaryCall"), Large(), new RpcCallOptions { Compression = compression });

            Assert.Equal(314159, BodyLength(reply));
        }
    }

    [PeerFact(Peer.Grpc)]
    public async Task client_compressed_streaming()
    {
        await using RpcStreamingCall call = Client.Open(
            Client.GetMethod("StreamingInputCall"), new RpcCallOptions { Compression = RpcCompression.Gzip });
        Assert.True(await call.SendAsync(Message("StreamingInputCallRequest", Payload(27182))));
        Assert.True(await call.SendAsync(Message("StreamingInputCallRequest", Payload(45904)), compress: false));
        await call.CompleteAsync();

        Assert.True(await call.ReadAsync());
        Assert.Equal(73086, Value(call.Current, "aggregated_payload_size"));
        Assert.False(await call.ReadAsync());
    }

    [PeerFact(Peer.Grpc)]
    public void server_compressed_unary()
    {
        foreach (bool compressed in new[] { true, false })
        {
            DynamicMessage request = Message("SimpleRequest", new Dictionary<string, object>(Payload(271828))
            {
                ["response_size"] = 314159,
                ["response_compressed"] = new Dictionary<string, object> { ["value"] = compressed },
            });
            RpcResponseInfo info = new();

            DynamicMessage reply = Client.Invoke(
                Client.GetMethod("UnaryCall"), request, new RpcCallOptions { Response = info });

            Assert.Equal(314159, BodyLength(reply));
        }
    }

    [PeerFact(Peer.Grpc)]
    public async Task server_compressed_streaming()
    {
        DynamicMessage request = Message("StreamingOutputCallRequest", new()
        {
            ["response_parameters"] = new object[]
            {
                new { size = 31415, compressed = new { value = true } },
                new { size = 92653, compressed = new { value = false } },
            },
        });

        List<DynamicMessage> replies = await CallAsync("StreamingOutputCall", [request]);

        Assert.Equal([31415, 92653], replies.Select(BodyLength));
    }

    [PeerFact(Peer.Grpc)]
    public async Task custom_metadata()
    {
        byte[] bytes = [0x0a, 0x0b, 0x0a, 0x0b, 0x0a, 0x0b];
        RpcMetadata headers = new()
        {
            { "x-grpc-test-echo-initial", "test_initial_metadata_value" },
            { "x-grpc-test-echo-trailing-bin", bytes },
        };
        RpcResponseInfo unary = new();
        RpcResponseInfo duplex = new();

        Client.Invoke(Client.GetMethod("UnaryCall"), Large(), new RpcCallOptions { Headers = headers, Response = unary });
        await CallAsync("FullDuplexCall", [Output([314159], 271828)], new() { Headers = headers, Response = duplex });

        foreach (RpcResponseInfo info in new[] { unary, duplex })
        {
            Assert.Equal("test_initial_metadata_value", info.Headers.GetText("x-grpc-test-echo-initial"));
            Assert.Equal(bytes, info.Trailers.GetBytes("x-grpc-test-echo-trailing-bin"));
        }
    }

    [PeerFact(Peer.Grpc)]
    public async Task status_code_and_message()
    {
        DynamicMessage unary = Message("SimpleRequest", Status(2, "test status message"));
        DynamicMessage duplex = Message("StreamingOutputCallRequest", Status(2, "test status message"));

        RpcException first = Assert.Throws<RpcException>(() => Client.Invoke(Client.GetMethod("UnaryCall"), unary));
        RpcException second = await Assert.ThrowsAsync<RpcException>(() => CallAsync("FullDuplexCall", [duplex]));

        foreach (RpcException error in new[] { first, second })
        {
            Assert.Equal(RpcStatusCode.Unknown, error.Code);
            Assert.Equal("test status message", error.Message);
        }
    }

    [PeerFact(Peer.Grpc)]
    public void special_status_message()
    {
        const string Text = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001F608\t\n";

        RpcException error = Assert.Throws<RpcException>(() => Client.Invoke(
            Client.GetMethod("UnaryCall"), Message("SimpleRequest", Status(2, Text))));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Equal(Text, error.Message);
    }

    [PeerFact(Peer.Grpc)]
    public void unimplemented_method()
    {
        RpcException error = Assert.Throws<RpcException>(() => Client.Invoke(
            Client.GetMethod("grpc.testing.TestService/UnimplementedCall"), Message("Empty")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [PeerFact(Peer.Grpc)]
    public void unimplemented_service()
    {
        RpcException error = Assert.Throws<RpcException>(() => Client.Invoke(
            Client.GetMethod("grpc.testing.UnimplementedService/UnimplementedCall"), Message("Empty")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [PeerFact(Peer.Grpc)]
    public async Task cancel_after_begin()
    {
        using CancellationTokenSource source = new();
        await using RpcStreamingCall call = Client.Open(
            Client.GetMethod("StreamingInputCall"), cancellation: source.Token);
        Assert.True(await call.SendAsync(Message("StreamingInputCallRequest")));
        await _server!.WaitForAsync("began StreamingInputCall");

        await source.CancelAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await _server!.WaitForAsync("ended StreamingInputCall");
    }

    [PeerFact(Peer.Grpc)]
    public async Task cancel_after_first_response()
    {
        using CancellationTokenSource source = new();
        await using RpcStreamingCall call = Client.Open(Client.GetMethod("FullDuplexCall"), cancellation: source.Token);
        Assert.True(await call.SendAsync(Output([31415], 27182)));
        Assert.True(await call.ReadAsync());

        await source.CancelAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await _server!.WaitForAsync("ended FullDuplexCall");
    }

    [PeerFact(Peer.Grpc)]
    public async Task timeout_on_sleeping_server()
    {
        await using RpcStreamingCall call = Client.Open(
            Client.GetMethod("FullDuplexCall"), new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(1) });
        await call.SendAsync(Output([31415], 27182));

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            while (await call.ReadAsync())
            {
            }
        });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    [PeerFact(Peer.Grpc)]
    public void rpc_soak()
    {
        for (int i = 0; i < 200; i++)
        {
            Assert.Equal(314159, BodyLength(Client.Invoke(Client.GetMethod("UnaryCall"), Large())));
        }
    }

    private protected abstract Task<IInteropServer> StartAsync();

    private static DynamicMessage Message(string type, Dictionary<string, object>? value = null) =>
        new MessageMapper().ToMessage(GrpcServer.Schema.GetMessage($"grpc.testing.{type}"), value);

    private static Dictionary<string, object> Payload(int size) => new()
    {
        ["payload"] = new Dictionary<string, object> { ["body"] = new byte[size] },
    };

    private static Dictionary<string, object> Status(int code, string message) => new()
    {
        ["response_status"] = new Dictionary<string, object> { ["code"] = code, ["message"] = message },
    };

    private static DynamicMessage Large() =>
        Message("SimpleRequest", new(Payload(271828)) { ["response_size"] = 314159 });

    private static DynamicMessage Output(int[] sizes, int payload = 0) => Message(
        "StreamingOutputCallRequest",
        new(Payload(payload)) { ["response_parameters"] = sizes.Select(size => new { size }).ToArray() });

    private static object? Value(DynamicMessage message, string field) =>
        message.Get(message.Type.Fields.Single(f => f.Name == field));

    private static int BodyLength(DynamicMessage message) =>
        ((byte[])Value((DynamicMessage)Value(message, "payload")!, "body")!).Length;

    private async Task<List<DynamicMessage>> CallAsync(
        string method, IEnumerable<IMessage> requests, RpcCallOptions? options = null)
    {
        RpcMethodInfo info = Client.GetMethod(method);
        List<DynamicMessage> replies = [];
        await foreach (DynamicMessage reply in Client.InvokeStreamAsync(info, requests.ToAsyncEnumerable(), options))
        {
            replies.Add(reply);
        }

        return replies;
    }
}
