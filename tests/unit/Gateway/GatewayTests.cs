using Google.Protobuf;
using ProtoRpc.Tests.Client.Talk;

namespace ProtoRpc.Tests.Gateway;

/// <summary>Calls that pass from one native server to another.</summary>
public static class GatewayTests
{
    [Theory]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.Local)]
    [InlineData(RpcTransport.NamedPipe)]
    public static void Passes_calls_on(RpcTransport transport)
    {
        using RpcServer server = EchoServer.Start(transport);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client, transport);
        using RpcClient caller = EchoServer.Connect(gateway);

        Assert.Equal("hello", caller.Invoke<EchoReply>("Say", new EchoRequest { Text = "hello" }).Text);
        Assert.Equal(1, server.Counters.Calls);
    }

    [Fact]
    public static async Task Passes_calls_on_of_many_callers_at_once_without_mixing_them_up()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client);
        using RpcClient caller = EchoServer.Connect(gateway);

        await Parallel.ForAsync(0, 500, async (i, stop) =>
        {
            EchoReply reply = await caller.InvokeAsync<EchoReply>(
                "Say", new EchoRequest { Text = $"{i}" }, cancellationToken: stop);
            Assert.Equal($"{i}", reply.Text);
        });
    }

    [Fact]
    public static void Replies_of_all_sizes_arrive_whole_while_others_call()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client);
        using RpcClient caller = EchoServer.Connect(gateway);

        Parallel.For(0, 200, new ParallelOptions { MaxDegreeOfParallelism = 8 }, i =>
        {
            string text = new((char)('a' + (i % 26)), i % 3 == 0 ? i * 997 : i);
            Assert.Equal(text, caller.Invoke<EchoReply>("Say", new EchoRequest { Text = text }).Text);
        });
    }

    [Theory]
    [InlineData(0, "1")]
    [InlineData(1, "2")]
    [InlineData(2, "3")]
    public static void Each_gateway_counts_itself(int between, string expected)
    {
        string? came = null;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (context, _) =>
            {
                came = context.RequestHeaders.GetText("protorpc-hops");
                context.ReplyHeaders.Add("x-answer", came ?? "none");
                return new EchoReply { Text = "x" };
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        Stack<IDisposable> all = new();
        RpcServer last = server;
        for (int i = 0; i <= between; i++)
        {
            RpcClient client = EchoServer.Connect(last);
            all.Push(client);
            last = Start(client);
            all.Push(last);
        }

        try
        {
            using RpcClient caller = EchoServer.Connect(last);
            RpcReplyInfo info = new();

            caller.Invoke<EchoReply>("Say", Request, new() { ReplyInfo = info });

            Assert.Equal(expected, came);
            Assert.Equal(expected, info.Headers.GetText("x-answer"));
        }
        finally
        {
            foreach (IDisposable one in all)
            {
                one.Dispose();
            }
        }
    }

    [Fact]
    public static void Does_not_read_messages()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client);
        using RawCaller caller = new(gateway);

        // The required field is missing, which the gateway would say itself if it looked.
        RpcException error = caller.Fails("Say", [0x12, 0x01, 0x00]);

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Equal(1, server.Counters.Errors);
    }

    [Fact]
    public static void Keeps_unknown_fields_and_their_order()
    {
        byte[]? came = null;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle("Say", (_, request) =>
            {
                came = request.ToByteArray();
                return ValueTask.FromResult<IMessage>(new EchoReply { Text = "x" });
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client);
        using RawCaller caller = new(gateway);

        caller.Call("Say", [0x0A, 0x01, 0x61, 0x98, 0x06, 0x07]);

        Assert.Equal("0A0161980607", Convert.ToHexString(came!));
    }

    [Fact]
    public static void Serves_the_services_of_the_clients_schema()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        using RpcServer gateway = RpcGateway.Create(client);

        Assert.Equal(["calls.Echo", "calls.Other"], gateway.Services.Select(service => service.Key.FullName));
    }

    [Fact]
    public static void Stands_beside_handlers_of_its_own()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) => new EchoReply { Text = "own" })
            .Forward(client, "calls.Echo")
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient caller = EchoServer.Connect(gateway);

        Assert.Equal("own", caller.Invoke<EchoReply>("Say", Request).Text);
        Assert.Contains(
            "x",
            Assert.Throws<RpcException>(() => caller.Invoke<EchoReply>("Fail", Request)).Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public static void Interceptors_of_both_sides_read_and_change_messages()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server, new() { Interceptors = [new ClientMark()] });
        using RpcServer gateway = Start(
            client, options: new RpcServerOptions { Interceptors = [new ServerMark()] });
        using RpcClient caller = EchoServer.Connect(gateway);

        EchoReply reply = caller.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" });

        Assert.Equal("a>server>client<client<server", reply.Text);
    }

    [Fact]
    public static void Authorization_leaves_messages_unread()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client, options: new RpcServerOptions
        {
            Interceptors =
            [
                RpcAuthorization.FromRules(
                    new Dictionary<string, string> { ["calls.Echo/Say"] = "anonymous" }),
            ],
        });
        using RawCaller caller = new(gateway);

        Assert.Equal(RpcStatusCode.InvalidArgument, caller.Fails("Say", [0x12, 0x01, 0x00]).Code);
        Assert.Equal(1, server.Counters.Errors);
        Assert.Equal(RpcStatusCode.PermissionDenied, caller.Fails("Fail", [0x0A, 0x01, 0x61]).Code);
        Assert.Equal(1, server.Counters.Errors);
    }

    [Fact]
    public static void A_method_that_streams_is_refused_when_it_is_named()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => RpcServer
            .Create(EchoServer.Schema, "calls.Echo").Handle("Watch", RpcGateway.Handler(client)));

        Assert.Equal(RpcErrorIds.GatewayCannotStream, error.ErrorId);
        Assert.Contains(client.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task A_method_that_streams_is_refused_when_it_is_called_and_was_not_named()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = RpcGateway.Create(client)
            .AddEndpoint($"inproc://{Guid.NewGuid():N}").StartListening();
        using RpcClient caller = EchoServer.Connect(gateway);

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await foreach (DynamicMessage _ in caller.InvokeServerStreamAsync("Watch", Request))
            {
            }
        });

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains(client.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_method_that_the_connection_does_not_have_is_refused()
    {
        RpcSchema other = RpcSchema.FromDescriptors(TalkReflection.Descriptor);
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], other, new() { Lazy = true });

        RpcException error = Assert.Throws<RpcException>(() => RpcServer
            .Create(EchoServer.Schema, "calls.Echo").Handle("Say", RpcGateway.Handler(client)));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
    }

    [Fact]
    public static void Without_a_schema_there_is_nothing_to_serve()
    {
        using RpcClient client = RpcClient.Connect(
            EchoServer.NewEndpoint(RpcTransport.Local), new RpcClientOptions { Lazy = true });

        RpcException error = Assert.Throws<RpcException>(() => RpcGateway.Create(client));

        Assert.Equal(RpcErrorIds.NoSchema, error.ErrorId);
    }

    [Fact]
    public static void Large_messages_go_in_parts_on_both_sides()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client);
        using RpcClient caller = EchoServer.Connect(gateway);
        byte[] payload = new byte[10_000_000];
        Random.Shared.NextBytes(payload);
        string hash = "";

        RpcException error = Assert.Throws<RpcException>(() => caller.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = hash, Payload = ByteString.CopyFrom(payload) }));

        // The request arrives; the reply of the same size is over the limit of the server behind.
        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("The reply has", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true, "request")]
    [InlineData(false, "reply")]
    public static void The_limits_of_the_gateway_hold(bool isRequest, string what)
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle("Say", RpcMethodHandler.OfReplies(new { text = new string('x', isRequest ? 1 : 2000) }))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        RpcClientOptions small = new()
        {
            Limits = RpcLimits.Default with { MaxMessageBytes = 1000, MultiPartThreshold = 0 },
        };
        using RpcClient client = EchoServer.Connect(server, small);
        using RpcServer gateway = Start(client, options: new()
        {
            Limits = RpcLimits.Default with { MaxMessageBytes = 1000 },
        });
        using RpcClient caller = EchoServer.Connect(gateway);

        RpcException error = Assert.Throws<RpcException>(() => caller.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = new string('x', isRequest ? 2000 : 1) }));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains(what, error.Message, StringComparison.OrdinalIgnoreCase);
    }

    [Fact]
    public static void A_client_that_is_closed_is_unavailable()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        RpcClient client = EchoServer.Connect(server);
        using RpcServer gateway = Start(client);
        using RpcClient caller = EchoServer.Connect(gateway);
        client.Dispose();

        RpcException error = Assert.Throws<RpcException>(() => caller.Invoke<EchoReply>("Say", Request));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.Contains(client.Endpoint.ToString(), error.Message, StringComparison.Ordinal);
    }

    private static readonly EchoRequest Request = new() { Text = "x" };

    private static RpcServer Start(
        RpcClient client, RpcTransport transport = RpcTransport.Local, RpcServerOptions? options = null) =>
        RpcServer.Create(EchoServer.Schema, "calls.Echo", options)
            .Forward(client, "calls.Echo")
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();

    private sealed class ServerMark : IRpcInterceptor
    {
        public async ValueTask<IMessage> InvokeAsync(
            RpcServerCallContext context, IMessage request, RpcHandler next)
        {
            Mark(request, ">server");
            IMessage reply = await next(context, request);
            Mark(reply, "<server");
            return reply;
        }
    }

    private sealed class ClientMark : IRpcClientInterceptor
    {
        public async ValueTask<IMessage> InvokeAsync(
            RpcClientCallContext context, IMessage request, RpcClientHandler next)
        {
            Mark(request, ">client");
            IMessage reply = await next(context, request);
            Mark(reply, "<client");
            return reply;
        }

        public ValueTask<RpcClientStream> OpenAsync(
            RpcClientCallContext context, RpcClientStreamHandler next) => next(context);
    }

    private static void Mark(IMessage message, string mark)
    {
        DynamicMessage dynamic = (DynamicMessage)message;
        dynamic["text"] = $"{dynamic["text"]}{mark}";
    }
}
