using System.Reflection;
using Google.Protobuf;

namespace ProtoRpc.Interop;

/// <summary>gRPC's official interoperability test cases, by name,
/// of our client against somebody's server.</summary>
internal sealed class InteropCases(IInteropServer server, RpcClient client)
{
    private static readonly int[] RequestSizes = [27182, 8, 1828, 45904];
    private static readonly int[] ResponseSizes = [31415, 9, 2653, 58979];

    /// <summary>The names of all cases.</summary>
    public static IEnumerable<string> Names { get; } = [.. typeof(InteropCases)
        .GetMethods(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
        .Select(method => method.Name)];

    /// <summary>Runs a case with a client of its own.</summary>
    public static async Task RunAsync(string name, IInteropServer server, RpcClientOptions? options = null)
    {
        using RpcClient client = server.Connect(options);
        object? result = typeof(InteropCases).GetMethod(name)!.Invoke(
            new InteropCases(server, client), BindingFlags.DoNotWrapExceptions, null, null, null);
        await (result as Task ?? Task.CompletedTask);
    }

    public void empty_unary()
    {
        DynamicMessage reply = client.Invoke(client.GetMethod("EmptyCall"), Message("Empty"));

        Assert.Empty(reply.ToByteArray());
    }

    public void large_unary()
    {
        DynamicMessage reply = client.Invoke(client.GetMethod("UnaryCall"), Large());

        Assert.Equal(314159, BodyLength(reply));
    }

    public async Task client_streaming()
    {
        List<DynamicMessage> replies = await CallAsync(
            "StreamingInputCall",
            RequestSizes.Select(size => Message("StreamingInputCallRequest", Payload(size))));

        Assert.Equal(74922, Value(Assert.Single(replies), "aggregated_payload_size"));
    }

    public async Task server_streaming()
    {
        List<DynamicMessage> replies = await CallAsync("StreamingOutputCall", [Output(ResponseSizes)]);

        Assert.Equal(ResponseSizes, replies.Select(BodyLength));
    }

    public async Task ping_pong()
    {
        await using RpcStreamingCall call = client.Open(client.GetMethod("FullDuplexCall"));
        for (int i = 0; i < RequestSizes.Length; i++)
        {
            Assert.True(await call.SendAsync(Output([ResponseSizes[i]], RequestSizes[i])));
            Assert.True(await call.ReadAsync());
            Assert.Equal(ResponseSizes[i], BodyLength(call.Current));
        }

        await call.CompleteAsync();
        Assert.False(await call.ReadAsync());
    }

    public async Task empty_stream() => Assert.Empty(await CallAsync("FullDuplexCall", []));

    public void client_compressed_unary()
    {
        foreach (RpcCompression compression in new[] { RpcCompression.Gzip, RpcCompression.None })
        {
            DynamicMessage reply = client.Invoke(
                client.GetMethod("UnaryCall"), Large(), new RpcCallOptions { Compression = compression });

            Assert.Equal(314159, BodyLength(reply));
        }
    }

    public async Task client_compressed_streaming()
    {
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("StreamingInputCall"), new RpcCallOptions { Compression = RpcCompression.Gzip });
        Assert.True(await call.SendAsync(Message("StreamingInputCallRequest", Payload(27182))));
        Assert.True(
            await call.SendAsync(Message("StreamingInputCallRequest", Payload(45904)), compress: false));
        await call.CompleteAsync();

        Assert.True(await call.ReadAsync());
        Assert.Equal(73086, Value(call.Current, "aggregated_payload_size"));
        Assert.False(await call.ReadAsync());
    }

    public void server_compressed_unary()
    {
        foreach (bool compressed in new[] { true, false })
        {
            DynamicMessage request = Message("SimpleRequest", new Dictionary<string, object>(Payload(271828))
            {
                ["response_size"] = 314159,
                ["response_compressed"] = new Dictionary<string, object> { ["value"] = compressed },
            });
            RpcReplyInfo info = new();

            DynamicMessage reply = client.Invoke(
                client.GetMethod("UnaryCall"), request, new RpcCallOptions { ReplyInfo = info });

            Assert.Equal(314159, BodyLength(reply));
            Assert.Equal(compressed, info.IsCompressed);
        }
    }

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

        RpcReplyInfo info = new();
        List<(int Length, bool IsCompressed)> replies = [];
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("StreamingOutputCall"), new RpcCallOptions { ReplyInfo = info });
        await call.SendAsync(request);
        await call.CompleteAsync();
        while (await call.ReadAsync())
        {
            replies.Add((BodyLength(call.Current), info.IsCompressed));
        }

        Assert.Equal([(31415, true), (92653, false)], replies);
    }

    public async Task custom_metadata()
    {
        byte[] bytes = [0x0a, 0x0b, 0x0a, 0x0b, 0x0a, 0x0b];
        RpcMetadata headers = new()
        {
            { "x-grpc-test-echo-initial", "test_initial_metadata_value" },
            { "x-grpc-test-echo-trailing-bin", bytes },
        };
        RpcReplyInfo unary = new();
        RpcReplyInfo duplex = new();

        client.Invoke(
            client.GetMethod("UnaryCall"),
            Large(),
            new RpcCallOptions { Headers = headers, ReplyInfo = unary });
        await CallAsync(
            "FullDuplexCall", [Output([314159], 271828)], new() { Headers = headers, ReplyInfo = duplex });

        foreach (RpcReplyInfo info in new[] { unary, duplex })
        {
            Assert.Equal("test_initial_metadata_value", info.Headers.GetText("x-grpc-test-echo-initial"));
            Assert.Equal(bytes, info.Trailers.GetBytes("x-grpc-test-echo-trailing-bin"));
        }
    }

    public async Task status_code_and_message()
    {
        DynamicMessage unary = Message("SimpleRequest", Status(2, "test status message"));
        DynamicMessage duplex = Message("StreamingOutputCallRequest", Status(2, "test status message"));

        RpcException first = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("UnaryCall"), unary));
        RpcException second = await Assert.ThrowsAsync<RpcException>(
            () => CallAsync("FullDuplexCall", [duplex]));

        foreach (RpcException error in new[] { first, second })
        {
            Assert.Equal(RpcStatusCode.Unknown, error.Code);
            Assert.Equal("test status message", error.Message);
        }
    }

    public void special_status_message()
    {
        const string Text = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001F608\t\n";

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("UnaryCall"), Message("SimpleRequest", Status(2, Text))));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Equal(Text, error.Message);
    }

    public void unimplemented_method()
    {
        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("grpc.testing.TestService/UnimplementedCall"), Message("Empty")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    public void unimplemented_service()
    {
        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("grpc.testing.UnimplementedService/UnimplementedCall"), Message("Empty")));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    public async Task cancel_after_begin()
    {
        using CancellationTokenSource source = new();
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("StreamingInputCall"), cancellationToken: source.Token);
        Assert.True(await call.SendAsync(Message("StreamingInputCallRequest")));
        await server.WaitForAsync("began StreamingInputCall");

        await source.CancelAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await server.WaitForAsync("ended StreamingInputCall");
    }

    public async Task cancel_after_first_response()
    {
        using CancellationTokenSource source = new();
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("FullDuplexCall"), cancellationToken: source.Token);
        Assert.True(await call.SendAsync(Output([31415], 27182)));
        Assert.True(await call.ReadAsync());

        await source.CancelAsync();
        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await server.WaitForAsync("ended FullDuplexCall");
    }

    public async Task timeout_on_sleeping_server()
    {
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("FullDuplexCall"),
            new RpcCallOptions { Timeout = TimeSpan.FromMilliseconds(1) });
        await call.SendAsync(Output([31415], 27182));

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            while (await call.ReadAsync())
            {
            }
        });

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
    }

    public void rpc_soak()
    {
        for (int i = 0; i < 200; i++)
        {
            Assert.Equal(314159, BodyLength(client.Invoke(client.GetMethod("UnaryCall"), Large())));
        }
    }

    public void channel_soak()
    {
        for (int i = 0; i < 20; i++)
        {
            using RpcClient another = server.Connect();
            Assert.Equal(314159, BodyLength(another.Invoke(another.GetMethod("UnaryCall"), Large())));
        }
    }

    internal static DynamicMessage Message(string type, Dictionary<string, object>? value = null) =>
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
        RpcMethodInfo info = client.GetMethod(method);
        List<DynamicMessage> replies = [];
        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync(
            info, requests.ToAsyncEnumerable(), options))
        {
            replies.Add(reply);
        }

        return replies;
    }
}
