using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc.Tests.Server;

public static class RpcServerStreamTests
{
    [Fact]
    public static async Task A_handler_reads_requests_and_writes_replies()
    {
        ListStream stream = await RunAsync("Watch", CountAsync, [], "abc");

        Assert.Equal(["a", "b", "c"], stream.Replies);
    }

    [Fact]
    public static async Task A_handler_of_one_message_gives_a_stream_of_one()
    {
        ServerMethod method = new(
            Method("Watch"),
            (_, request) => ValueTask.FromResult<IMessage>(new EchoReply { Text = TextOf(request) }));
        ListStream stream = new(method, "abc");

        await InvokeAsync(stream, []);

        Assert.Equal(["abc"], stream.Replies);
    }

    [Fact]
    public static async Task A_method_with_one_reply_gets_exactly_one()
    {
        RpcException two = await Assert.ThrowsAsync<RpcException>(
            () => RunAsync("Say", CountAsync, [], "ab"));
        RpcException none = await Assert.ThrowsAsync<RpcException>(() => RunAsync("Say", CountAsync, [], ""));

        Assert.Contains("second reply", two.Message);
        Assert.Contains("without a reply", none.Message);
    }

    [Fact]
    public static async Task A_reply_of_another_type_is_refused()
    {
        RpcException error = await Assert.ThrowsAsync<RpcException>(() => RunAsync(
            "Watch", (_, stream) => stream.WriteAsync(new EchoRequest { Text = "x" }), [], "a"));

        Assert.Contains("calls.EchoRequest and not calls.EchoReply", error.Message);
    }

    [Fact]
    public static async Task An_interceptor_sees_the_request_and_may_change_it()
    {
        ListStream stream = await RunAsync("Watch", CountAsync, [new Changing("xy")], "abc");

        Assert.Equal(["x", "y"], stream.Replies);
    }

    [Fact]
    public static async Task An_interceptor_that_answers_itself_answers_with_one_message()
    {
        ListStream stream = await RunAsync("Watch", CountAsync, [new Changing(null)], "abc");

        Assert.Equal(["mine"], stream.Replies);
    }

    [Fact]
    public static async Task Who_may_not_call_is_refused_before_a_request_is_read()
    {
        ServerMethod method = new(Method("Watch"), CountAsync);
        ListStream stream = new(method, "abc");
        Dictionary<string, string> rules = new() { ["*"] = "ann" };

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => InvokeAsync(stream, [RpcAuthorization.FromRules(rules)]));

        Assert.Equal(RpcStatusCode.Unauthenticated, error.Code);
        Assert.NotNull(await stream.ReadAsync());
    }

    [Fact]
    public static void Generated_types_stream_through_an_async_enumerable()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .HandleStreaming<EchoRequest, EchoReply>(
                "Watch", (_, requests) => requests.Select(r => new EchoReply { Text = r.Text }));

        RpcException error = Assert.Throws<RpcException>(
            () => server.HandleStreaming<EchoReply, EchoReply>("Say", (_, requests) => requests));

        Assert.Contains("takes calls.EchoRequest, not calls.EchoReply", error.Message);
    }

    [Theory]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.NamedPipe)]
    [InlineData(RpcTransport.Local)]
    public static async Task Generated_types_stream_one_message_each_way_on_native_endpoints(
        RpcTransport transport)
    {
        using RpcServer server = RpcServer
            .Create(EchoServer.Schema, "calls.Echo",
                new RpcServerOptions { Interceptors = [new Changing("seen")] })
            .HandleStreaming<EchoRequest, EchoReply>(
                "Say", (_, requests) => requests.Select(r => new EchoReply { Text = $"{r.Text} here" }))
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);

        EchoReply blocking = client.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" });
        EchoReply async = await client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = "a" });

        Assert.Equal(("seen here", "seen here"), (blocking.Text, async.Text));
    }

    private static async ValueTask CountAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        await foreach (IMessage request in stream.ReadAllAsync())
        {
            foreach (char c in TextOf(request))
            {
                await stream.WriteAsync(new EchoReply { Text = c.ToString() });
            }
        }
    }

    private static string TextOf(IMessage request) =>
        request is EchoRequest echo ? echo.Text : EchoRequest.Parser.ParseFrom(request.ToByteArray()).Text;

    private static RpcMethodInfo Method(string name) => EchoServer.Schema.GetMethod($"calls.Echo/{name}");

    private static async Task<ListStream> RunAsync(
        string method, RpcStreamHandler handler, IReadOnlyList<IRpcInterceptor> interceptors, string text)
    {
        ListStream stream = new(new ServerMethod(Method(method), handler), text);
        await InvokeAsync(stream, interceptors);
        return stream;
    }

    private static async Task InvokeAsync(ListStream stream, IReadOnlyList<IRpcInterceptor> interceptors)
    {
        ServerHost host = new([], new RpcServerOptions());
        RpcServerCallContext context = new(
            host, stream.Method.Info, RpcEndpoint.Parse("grpc://127.0.0.1:1"),
            PeerIdentity.Anonymous(""), null, null, default);
        stream.Method.Intercept(interceptors);
        await stream.Method.InvokeAsync(context, stream);
    }

    /// <summary>A stream with one request, which keeps the texts of its replies.</summary>
    private sealed class ListStream(ServerMethod method, string text) : RpcServerStream(method)
    {
        private string? _text = text;

        public List<string> Replies { get; } = [];

        internal override ValueTask<IMessage?> ReceiveAsync()
        {
            IMessage? request = _text is null ? null : new EchoRequest { Text = _text };
            _text = null;
            return ValueTask.FromResult(request);
        }

        internal override ValueTask SendAsync(IMessage reply, bool compress)
        {
            Replies.Add(((EchoReply)reply).Text);
            return default;
        }
    }

    private sealed class Changing(string? text) : IRpcInterceptor
    {
        public ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next) =>
            text is null
                ? ValueTask.FromResult<IMessage>(new EchoReply { Text = "mine" })
                : next(context, new EchoRequest { Text = text });
    }
}
