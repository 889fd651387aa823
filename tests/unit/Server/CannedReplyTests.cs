using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Tests.Server;

public static class CannedReplyTests
{
    private static readonly EchoRequest Request = new() { Text = "x" };

    [Fact]
    public static void A_reply_that_is_given_answers_every_call()
    {
        using RpcServer server = Start(RpcMethodHandler.OfReplies(new { text = "always" }));
        using RpcClient client = EchoServer.Connect(server);

        for (int i = 0; i < 3; i++)
        {
            Assert.Equal("always", client.Invoke<EchoReply>("Say", Request).Text);
        }
    }

    [Fact]
    public static void A_generated_message_is_a_reply_and_later_changes_of_it_are_not_sent()
    {
        EchoReply reply = new() { Text = "before" };
        using RpcServer server = Start(RpcMethodHandler.OfReplies(reply));
        using RpcClient client = EchoServer.Connect(server);
        reply.Text = "after";

        Assert.Equal("before", client.Invoke<EchoReply>("Say", Request).Text);
    }

    [Fact]
    public static void Callers_at_the_same_time_get_the_same_reply()
    {
        byte[] payload = new byte[100_000];
        Random.Shared.NextBytes(payload);
        using RpcServer server = Start(RpcMethodHandler.OfReplies(
            new EchoReply { Text = "", Payload = ByteString.CopyFrom(payload) }));
        using RpcClient client = EchoServer.Connect(server);

        Parallel.For(0, 50, _ =>
            Assert.Equal(payload, client.Invoke<EchoReply>("Say", Request).Payload.ToByteArray()));
    }

    [Fact]
    public static void An_unknown_field_is_refused_before_the_server_starts_with_its_method_and_path()
    {
        RpcException error = Assert.Throws<RpcException>(() => EchoOf(
            RpcMethodHandler.OfReplies(new Dictionary<string, object> { ["txt"] = "x" })));

        Assert.Equal(RpcErrorIds.UnknownField, error.ErrorId);
        Assert.Equal("calls.Echo/Say", error.MethodName);
        Assert.Contains("calls.Echo/Say", error.Message, StringComparison.Ordinal);
        Assert.Contains("'txt'", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_message_of_another_type_is_refused()
    {
        RpcException error = Assert.Throws<RpcException>(() => EchoOf(
            RpcMethodHandler.OfReplies(Request)));

        Assert.Equal(RpcErrorIds.InvalidHandler, error.ErrorId);
        Assert.Contains("calls.EchoRequest", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public static void A_method_that_sends_one_reply_has_one(int count)
    {
        RpcException error = Assert.Throws<RpcException>(() => EchoOf(
            RpcMethodHandler.OfReplies(Enumerable.Repeat(new EchoReply { Text = "x" }, count))));

        Assert.Equal(RpcErrorIds.InvalidHandler, error.ErrorId);
        Assert.Contains($"{count} replies", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void An_interceptor_reads_and_changes_the_reply_of_its_own_call_only()
    {
        RpcServerOptions options = new() { Interceptors = [new Suffix()] };
        using RpcServer server = Start(RpcMethodHandler.OfReplies(new { text = "a" }), options);
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal("a!", client.Invoke<EchoReply>("Say", Request).Text);
        Assert.Equal("a!", client.Invoke<EchoReply>("Say", Request).Text);
    }

    [Fact]
    public static void A_request_that_is_none_is_refused_all_the_same()
    {
        using RpcServer server = Start(RpcMethodHandler.OfReplies(new EchoReply { Text = "x" }));
        using WireCaller caller = new(server.Endpoints[0], server.Services[0].Value);

        RpcResponseHeader reply = caller.Call(
            "Say",
            new OpaqueMessage(EchoServer.Schema.GetMessage("calls.EchoRequest"), new byte[] { 10, 127 }));

        Assert.Equal(
            (int)RpcStatusCode.InvalidArgument, reply.GetExtension(ProtorpcTransportExtensions.StatusCode));
    }

    [Fact]
    public static void A_reply_over_the_limit_fails_its_call()
    {
        RpcServerOptions options = new() { Limits = RpcLimits.Default with { MaxMessageBytes = 1000 } };
        using RpcServer server = Start(
            RpcMethodHandler.OfReplies(new EchoReply { Text = new string('x', 2000) }), options);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", Request));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
    }

    [Fact]
    public static void One_handler_serves_every_method_that_has_none()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) => new EchoReply { Text = "own" })
            .HandleAll(RpcMethodHandler.OfReplies(new { text = "common" }))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal("own", client.Invoke<EchoReply>("Say", Request).Text);
        Assert.Equal("common", client.Invoke<EchoReply>("Wait", Request).Text);
    }

    private static RpcServer EchoOf(RpcMethodHandler handler, RpcServerOptions? options = null) =>
        RpcServer.Create(EchoServer.Schema, "calls.Echo", options).Handle("Say", handler);

    private static RpcServer Start(RpcMethodHandler handler, RpcServerOptions? options = null) =>
        EchoOf(handler, options)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

    private sealed class Suffix : IRpcInterceptor
    {
        public async ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            IMessage reply = await next(context, request);
            if (reply is DynamicMessage dynamic && context.Method.Name == "Say")
            {
                dynamic["text"] = $"{dynamic["text"]}!";
            }

            return reply;
        }
    }
}
