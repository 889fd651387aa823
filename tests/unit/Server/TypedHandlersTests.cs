namespace ProtoRpc.Tests.Server;

/// <summary>Handlers and calls with generated message types.</summary>
public static class TypedHandlersTests
{
    [Fact]
    public static async Task Async_lambdas_handle_generated_types()
    {
        using RpcServer server =
            Start(s => s.Handle<EchoRequest, EchoReply>("Say", async (context, request) =>
        {
            await Task.Yield();
            return new EchoReply { Text = request.Text };
        }));
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal("a", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" }).Text);
        Assert.Equal("b", (await client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = "b" })).Text);
    }

    [Fact]
    public static void Types_of_lambda_parameters_are_enough()
    {
        using RpcServer server =
            Start(s => s.Handle("Say", async (RpcServerCallContext context, EchoRequest request) =>
        {
            await Task.Yield();
            return new EchoReply { Text = request.Text };
        }));
        using RpcClient client = EchoServer.Connect(server);

        Assert.Equal("a", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" }).Text);
    }

    [Fact]
    public static void Methods_that_return_tasks_are_handlers()
    {
        using RpcServer server = Start(s => s
            .Handle<EchoRequest, EchoReply>("Say", SayAsync)
            .Handle<EchoRequest, EchoReply>("Fail", FailAsync));
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "later" }));

        Assert.Equal("later", error.Message);
        Assert.Equal("a", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "a" }).Text);

        static async Task<EchoReply> SayAsync(RpcServerCallContext context, EchoRequest request)
        {
            await Task.Yield();
            return new EchoReply { Text = request.Text };
        }

        static async ValueTask<EchoReply> FailAsync(RpcServerCallContext context, EchoRequest request)
        {
            await Task.Yield();
            throw new RpcException(RpcStatusCode.NotFound, request.Text);
        }
    }

    [Fact]
    public static void An_async_handler_of_other_types_is_refused_at_registration()
    {
        RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo");

        RpcException error = Assert.Throws<RpcException>(() => server.Handle<EchoReply, EchoReply>(
            "Say", async (_, request) =>
            {
                await Task.Yield();
                return request;
            }));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Contains(
            "takes calls.EchoRequest, not calls.EchoReply", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static async Task Another_reply_type_than_the_methods_is_refused_before_the_call()
    {
        int calls = 0;
        using RpcServer server = Start(s => s.Handle<EchoRequest, EchoReply>("Say", (_, _) =>
        {
            calls++;
            return new EchoReply();
        }));
        using RpcClient client = EchoServer.Connect(server);
        EchoRequest request = new() { Text = "a" };

        RpcException blocking = Assert.Throws<RpcException>(() => client.Invoke<EchoRequest>("Say", request));
        RpcException async = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<EchoRequest>("Say", request));

        foreach (RpcException error in new[] { blocking, async })
        {
            Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
            Assert.Contains(
                "returns calls.EchoReply, not calls.EchoRequest", error.Message, StringComparison.Ordinal);
        }

        Assert.Equal(0, calls);
    }

    private static RpcServer Start(Func<RpcServer, RpcServer> handle) =>
        handle(RpcServer.Create(EchoServer.Schema, "calls.Echo"))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
}
