using Google.Protobuf;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Client;

/// <summary>A native call encodes each message once on the side that sends it, also where the message goes in
/// parts.</summary>
public static class EncodeOnceTests
{
    private const int Threshold = 4096;

    [Theory]
    [InlineData(0, 100)]
    [InlineData(0, 100_000)]
    [InlineData(Threshold, 100)]
    [InlineData(Threshold, 100_000)]
    public static async Task A_dynamic_message_is_encoded_and_checked_once_a_side(int threshold, int size)
    {
        RpcSchema ofServer = RpcSchema.FromDescriptors(CallsReflection.Descriptor);
        RpcSchema ofClient = RpcSchema.FromDescriptors(CallsReflection.Descriptor);
        await using RpcServer server = RpcServer.Create(ofServer, "calls.Echo")
            .Handle("Say", (_, request) => ValueTask.FromResult<IMessage>(
                Message(ofServer, "calls.EchoReply", ((DynamicMessage)request).Get(TextOf(request))!)))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], ofClient,
            new RpcClientOptions
            {
                Service = "calls.Echo",
                Limits = new() { MultiPartThreshold = threshold },
            });
        RpcMethodInfo method = client.GetMethod("Say");
        DynamicMessage request = Message(ofClient, "calls.EchoRequest", new string('x', size));
        PassCount sent = new(method.RequestType);
        PassCount received = new(method.ReplyType);
        PassCount taken = new(ofServer.GetMessage("calls.EchoRequest"));
        PassCount answered = new(ofServer.GetMessage("calls.EchoReply"));

        DynamicMessage reply = client.Invoke(method, request);

        Assert.Equal(size, ((string)reply.Get(TextOf(reply))!).Length);
        Assert.Equal([(1, 1), (0, 1), (0, 1), (1, 1)], [sent.Now, taken.Now, received.Now, answered.Now]);

        await client.InvokeAsync(method, request);

        Assert.Equal([(2, 2), (0, 2), (0, 2), (2, 2)], [sent.Now, taken.Now, received.Now, answered.Now]);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(Threshold)]
    public static void A_generated_message_is_measured_and_written_once_a_side(int threshold)
    {
        RpcSchema schema = ReplyMismatchTests.Load(
            "syntax = \"proto3\"; package plain; message Text { string text = 1; } "
            + "service Plain { rpc Say (Text) returns (Text); }");
        RpcMessageInfo type = schema.GetMessage("plain.Text");
        CountingMessage reply = new(type.Descriptor, new string('y', 10_000));
        CountingMessage request = new(type.Descriptor, new string('x', 10_000));
        using RpcServer server = RpcServer.Create(schema)
            .Handle("Say", (_, _) => ValueTask.FromResult<IMessage>(reply))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], schema,
            new RpcClientOptions { Limits = new() { MultiPartThreshold = threshold } });

        DynamicMessage received = client.Invoke(client.GetMethod("Say"), request);

        Assert.Equal(reply.Text, received.Get(TextOf(received)));
        Assert.Equal((1, 1), (request.Measured, request.Written));
        Assert.Equal((1, 1), (reply.Measured, reply.Written));
    }

    [Theory]
    [InlineData(0, 1)]
    [InlineData(Threshold, 2)]
    public static void A_reply_over_the_limit_fails_the_call_at_the_limit(int threshold, int calls)
    {
        using RpcServer server = RpcServer.Create(
            EchoServer.Schema, "calls.Echo",
            new RpcServerOptions { Limits = new RpcLimits { MaxMessageBytes = 10_000 } })
            .Handle("Say", (_, _) => ValueTask.FromResult<IMessage>(
                Message(EchoServer.Schema, "calls.EchoReply", new string('x', 50_000))))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = EchoServer.Connect(
            server, new RpcClientOptions { Limits = new() { MultiPartThreshold = threshold } });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = new string('x', Threshold) }));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("The reply has at least 50,000 bytes; the limit is 10,000", error.Message);
        Assert.Equal(calls, server.Counters.Calls);
    }

    private static DynamicMessage Message(RpcSchema schema, string type, object text)
    {
        DynamicMessage message = new(schema.GetMessage(type));
        message.Set(TextOf(message), text);
        return message;
    }

    private static RpcFieldInfo TextOf(IMessage message) => ((DynamicMessage)message).Type.FindField("text")!;
}
