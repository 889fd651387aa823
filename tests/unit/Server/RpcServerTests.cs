using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Tests.Server;

public static class RpcServerTests
{
    [Theory]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.NamedPipe)]
    [InlineData(RpcTransport.Local)]
    public static void Answers_typed_calls_on_every_native_transport(RpcTransport transport)
    {
        using RpcServer server = EchoServer.Start(transport);
        using RpcClient client = EchoServer.Connect(server);

        EchoReply reply = client.Invoke<EchoReply>("Say", new EchoRequest { Text = "hello" });

        Assert.Equal("hello", reply.Text);
        Assert.Equal(transport == RpcTransport.Tcp ? "" : LocalUser.Name, reply.User);
    }

    [Fact]
    public static void A_handler_that_gives_up_at_the_deadline_was_late_and_not_cancelled()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using WireCaller caller = new(server.Endpoints[0], server.Services[0].Value);

        RpcResponseHeader reply = caller.Call(
            "Wait", new EchoRequest { Text = "x" }, timeout: TimeSpan.FromMilliseconds(50));

        Assert.Equal(
            (int)RpcStatusCode.DeadlineExceeded, reply.GetExtension(ProtorpcTransportExtensions.StatusCode));
    }

    [Fact]
    public static void Answers_dynamic_calls_with_the_same_bytes()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        RpcMethodInfo method = client.GetMethod("Say");
        DynamicMessage request = new(method.RequestType);
        request.Set(method.RequestType.FindField("text")!, "hello");

        DynamicMessage reply = client.Invoke(method, request);

        Assert.Equal("hello", reply.Get(method.ReplyType.FindField("text")!));
    }

    [Fact]
    public static void One_server_listens_on_every_kind_of_endpoint_at_once()
    {
        using RpcServer server = EchoServer.Create()
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.NamedPipe))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();

        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            using RpcClient client =
                RpcClient.Connect(endpoint, EchoServer.Schema, new() { Service = "Echo" });
            Assert.Equal("x", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }).Text);
        }

        Assert.Equal(3, server.Counters.Calls);
        Assert.Equal(0, server.Counters.Errors);
        Assert.Equal(3, server.Counters.Accepted);
    }

    [Fact]
    public static void Two_servers_with_services_of_their_own_share_an_endpoint()
    {
        using RpcServer one = EchoServer.Start(RpcTransport.Tcp);
        using RpcServer other = RpcServer.Create(EchoServer.Schema, "calls.Other")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) => new EchoReply { Text = "other" })
            .AddEndpoint(one.Endpoints[0])
            .StartListening();
        using RpcClient client = RpcClient.Connect(one.Endpoints[0], EchoServer.Schema);

        EchoReply first = client.Invoke<EchoReply>("calls.Echo/Say", new EchoRequest { Text = "one" });
        EchoReply second = client.Invoke<EchoReply>("calls.Other/Say", new EchoRequest { Text = "x" });

        Assert.Equal("one", first.Text);
        Assert.Equal("other", second.Text);
    }

    [Fact]
    public static void The_same_service_twice_on_one_endpoint_is_refused()
    {
        using RpcServer one = EchoServer.Start(RpcTransport.Local);
        RpcServer twice = EchoServer.Create().AddEndpoint(one.Endpoints[0]);

        RpcException error = Assert.Throws<RpcException>(() => twice.StartListening());

        Assert.Equal(RpcStatusCode.AlreadyExists, error.Code);
    }

    [Fact]
    public static void Binds_all_endpoints_or_none()
    {
        using RpcServer taken = EchoServer.Start(RpcTransport.Local);
        RpcEndpoint free = EchoServer.NewEndpoint(RpcTransport.Local);

        Assert.Throws<RpcException>(
            () => EchoServer.Create().AddEndpoint(free).AddEndpoint(taken.Endpoints[0]).StartListening());

        using RpcServer now = EchoServer.Create().AddEndpoint(free).StartListening();
        Assert.True(now.IsListening);
    }

    [Fact]
    public static void Large_messages_go_both_ways()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = EchoServer.Connect(server);
        byte[] payload = new byte[3_000_000];
        new Random(1).NextBytes(payload);

        EchoReply reply = client.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = "big", Payload = ByteString.CopyFrom(payload) });

        Assert.Equal(payload, reply.Payload.ToByteArray());
    }

    [Theory]
    [InlineData(
        RpcErrorDetail.None, "", "^The call failed on the server. The server's .* id [0-9a-f]{16}\\.$")]
    [InlineData(
        RpcErrorDetail.Type, "System.InvalidOperationException",
        "^The call failed on the server with System.InvalidOperationException. .* id [0-9a-f]{16}\\.$")]
    [InlineData(RpcErrorDetail.Message, "System.InvalidOperationException", "^no disk$")]
    [InlineData(RpcErrorDetail.Full, "System.InvalidOperationException", "^no disk$")]
    public static void A_handlers_exception_is_told_at_the_level_that_was_set(
        RpcErrorDetail detail, string type, string message)
    {
        using RpcServer server =
            EchoServer.Start(RpcTransport.Tcp, new RpcServerOptions { ErrorDetail = detail });
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "no disk" }));

        Assert.Equal(RpcStatusCode.Unknown, error.Code);
        Assert.Equal("calls.Echo/Fail", error.MethodName);
        Assert.Equal(server.Endpoints[0], error.Endpoint);
        Assert.Equal(type, error.Remote!.TypeName);
        Assert.Matches(message, error.Remote.Message);
        Assert.Matches("^[0-9a-f]{16}$", error.CorrelationId);
        Assert.Equal(detail == RpcErrorDetail.Full, error.Remote.StackTrace.Length > 0);
        Assert.Equal(1, server.Counters.Errors);
    }

    [Theory]
    [InlineData(RpcTransport.Tcp, false)]
    [InlineData(RpcTransport.Local, true)]
    public static void Exceptions_are_told_on_local_transports_only_unless_set(
        RpcTransport transport, bool told)
    {
        using RpcServer server = EchoServer.Start(transport);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "x" }));

        Assert.Equal(told, error.Remote!.Message == "x");
        Assert.Equal(told, error.Remote.StackTrace.Length > 0);
    }

    [Fact]
    public static void A_status_that_a_handler_chose_reaches_the_caller()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .Handle("Say", (_, _) => throw new RpcException(RpcStatusCode.NotFound, "no such thing"))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client =
            RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }));

        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal("no such thing", error.Message);
    }

    [Fact]
    public static void A_method_without_a_handler_says_so()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client =
            RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("calls.Other/Say has no handler", error.Message);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static void A_server_without_HTTP_names_the_package_and_the_call_that_bring_it(string endpoint)
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other").AddEndpoint(endpoint);

        RpcException error = Assert.Throws<RpcException>(() => server.StartListening());

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("package ProtoRpc.AspNetCore", error.Message);
        Assert.Contains("new RpcServerOptions().WithHttp()", error.Message);
        Assert.Contains(endpoint, error.Message);
    }

    [Fact]
    public static void A_reply_of_another_type_fails_the_call_and_not_the_server()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .Handle("Say", (_, request) => ValueTask.FromResult(request))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client =
            RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }));

        Assert.Contains("returned the message calls.EchoRequest and not calls.EchoReply", error.Message);
        Assert.Equal("", client.Ping().Product.Replace("ProtoRpc", "", StringComparison.Ordinal));
    }

    [Fact]
    public static void A_reply_that_lacks_a_required_field_fails_before_a_byte_is_sent()
    {
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) => new EchoReply())
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client =
            RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }));

        Assert.Contains("required", error.Message);
    }

    [Fact]
    public static async Task A_handler_sees_that_the_caller_gave_up()
    {
        TaskCompletionSource seen = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .Handle("Say", async (context, _) =>
            {
                using CancellationTokenRegistration on =
                    context.CancellationToken.Register(() => seen.SetResult());
                await seen.Task;
                return new EchoReply { Text = "late" };
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcClient client =
            RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });
        using CancellationTokenSource cancel = new(TimeSpan.FromMilliseconds(200));

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke<EchoReply>(
            "Say", new EchoRequest { Text = "x" },
                new() { Timeout = Timeout.InfiniteTimeSpan }, cancel.Token));

        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
        await seen.Task.WaitAsync(TimeSpan.FromSeconds(20));
    }

    [Fact]
    public static async Task Stopping_lets_a_running_call_end_and_refuses_the_next()
    {
        using ManualResetEventSlim inside = new();
        using ManualResetEventSlim go = new();
        RpcServer server = RpcServer.Create(EchoServer.Schema, "Other")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) =>
            {
                inside.Set();
                go.Wait(TimeSpan.FromSeconds(20));
                return new EchoReply { Text = "done" };
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcClient client =
            RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" });
        Task<EchoReply> running =
            Task.Run(() => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }));
        Assert.True(inside.Wait(TimeSpan.FromSeconds(20)));

        Task stopping = server.StopAsync(TimeSpan.FromSeconds(20));
        RpcException refused = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "y" },
                new() { Timeout = TimeSpan.FromSeconds(5) }));
        go.Set();

        Assert.Equal("done", (await running).Text);
        await stopping;
        Assert.False(refused.MayHaveExecuted);
        Assert.True(server.Completion.IsCompletedSuccessfully);
        Assert.False(server.IsListening);
    }

    [Fact]
    public static async Task Stopping_cancels_a_call_that_outlasts_the_drain_time()
    {
        RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);
        Task<RpcException> running = Task.Run(() => Assert.Throws<RpcException>(
            () =>
                client.Invoke<EchoReply>("Wait", new EchoRequest { Text = "x" },
                    new() { Timeout = TimeSpan.FromSeconds(60) })));
        Assert.True(SpinWait.SpinUntil(() => server.Counters.InFlight == 1, TimeSpan.FromSeconds(20)));

        await server.StopAsync(TimeSpan.FromMilliseconds(100)).WaitAsync(TimeSpan.FromSeconds(20));

        RpcException error = await running.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Contains(error.Code, new[] { RpcStatusCode.Cancelled, RpcStatusCode.Unavailable });
    }

    [Fact]
    public static void Setup_errors_name_what_is_wrong()
    {
        Assert.Contains("calls.Echo, calls.Other", Assert.Throws<RpcException>(
            () => RpcServer.Create(EchoServer.Schema)).Message);
        Assert.Equal(RpcStatusCode.NotFound, Assert.Throws<RpcException>(
            () => RpcServer.Create(EchoServer.Schema, "Ecko")).Code);
        Assert.Equal(RpcStatusCode.NotFound, Assert.Throws<RpcException>(
            () => EchoServer.Create().Handle("Sya", (_, r) => ValueTask.FromResult(r))).Code);
        Assert.Equal(RpcStatusCode.AlreadyExists, Assert.Throws<RpcException>(
            () => EchoServer.Create().Handle("Say", (_, r) => ValueTask.FromResult(r))).Code);
        Assert.Contains("returns calls.EchoReply, not calls.EchoRequest", Assert.Throws<RpcException>(
            () => EchoServer.Create().Handle<EchoRequest, EchoRequest>("Watch", (_, r) => r)).Message);
        Assert.Equal(RpcStatusCode.FailedPrecondition, Assert.Throws<RpcException>(
            () => EchoServer.Create().StartListening()).Code);
        Assert.Equal(RpcStatusCode.AlreadyExists, Assert.Throws<RpcException>(
            () => EchoServer.Create().AddService(EchoServer.Schema.GetService("Echo"))).Code);
    }
}
