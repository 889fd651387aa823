using System.Collections;

namespace ProtoRpc.Tests.Server.Raw;

public static class RpcRawServerTests
{
    private static readonly Guid Interface = new("b1f2c2b4-5d3e-4c7a-9f10-2a6b8c0d4e5f");

    [Theory]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.NamedPipe)]
    [InlineData(RpcTransport.Local)]
    public static void Bytes_go_in_and_come_out_on_every_native_transport(RpcTransport transport)
    {
        using RpcRawServer server = Start(transport, (_, bytes) => [.. bytes.Reverse()]);
        using RpcRawClient client = Connect(server);

        Assert.Equal([3, 2, 1], client.Execute([1, 2, 3]));
        Assert.Empty(client.Execute([]));
        Assert.Equal(2, client.CallCount);
        Assert.Equal(2, server.Counters.Calls);
        Assert.Equal(0, server.Counters.Errors);
    }

    [Fact]
    public static async Task Many_fragments_go_both_ways_without_holding_a_thread()
    {
        await using RpcRawServer server = RpcRawServer.Create(Interface)
            .OnExecute((_, bytes) => ValueTask.FromResult<ReadOnlyMemory<byte>?>(bytes))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcRawClient client = Connect(server);
        byte[] bytes = new byte[1_000_000];
        new Random(1).NextBytes(bytes);

        Assert.Equal(bytes, await client.ExecuteAsync(bytes));
    }

    [Theory]
    [InlineData(RpcTransport.Tcp, false)]
    [InlineData(RpcTransport.Local, true)]
    public static void The_handler_knows_who_calls(RpcTransport transport, bool isKnown)
    {
        string seen = "";
        using RpcRawServer server = Start(transport, (client, _) =>
        {
            seen = $"{client.Transport} {client.InterfaceId} {client.IsAuthenticated} {client.IsLocal} "
                + $"{client.ClientAddress.Length > 0} {client.ProcessId == Environment.ProcessId}";
            return [];
        });
        using RpcRawClient client = Connect(server);

        client.Execute([]);

        Assert.Equal($"{transport} {Interface} {isKnown} {isKnown} {!isKnown} {isKnown}", seen);
    }

    [Fact]
    public static void Interceptors_stand_around_each_other_and_the_handler()
    {
        RpcRawServerOptions options = new() { Interceptors = [new Mark(1), new Mark(2)] };
        using RpcRawServer server = Start(RpcTransport.Local, (_, bytes) => [.. bytes, 0], options);
        using RpcRawClient client = Connect(server);

        Assert.Equal([9, 1, 2, 0, 2, 1], client.Execute([9]));
    }

    [Fact]
    public static void Whoever_an_interceptor_refuses_is_told_return_code_5_and_the_handler_does_not_run()
    {
        bool ran = false;
        RpcRawServerOptions options = new()
        {
            Interceptors = [RpcAuthorization.FromRules(new Hashtable { [$"{Interface}"] = "nobody-else" })],
        };
        using RpcRawServer server = Start(RpcTransport.Local, (_, _) => { ran = true; return []; }, options);
        using RpcRawClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => client.Execute([1]));

        Assert.Equal((5, RpcStatusCode.PermissionDenied), ((int)error.NativeStatus, error.Code));
        Assert.False(ran);
        Assert.Equal(1, server.Counters.Errors);
    }

    [Theory]
    [InlineData(RpcTransport.Local, "b1f2c2b4-*", "*", true)]
    [InlineData(RpcTransport.Local, "B1F2C2B4-5D3E-4C7A-9F10-2A6B8C0D4E5F", "*", true)]
    [InlineData(RpcTransport.Local, "calls.Echo/*", "*", false)]
    [InlineData(RpcTransport.Tcp, "*", "*", false)]
    [InlineData(RpcTransport.Tcp, "*", "anonymous", true)]
    public static void Rules_name_interfaces_by_their_id(
        RpcTransport transport, string pattern, string who, bool isAllowed)
    {
        RpcRawServerOptions options = new()
        {
            Interceptors = [RpcAuthorization.FromRules(new Hashtable { [pattern] = who })],
        };
        using RpcRawServer server = Start(transport, (_, bytes) => bytes, options);
        using RpcRawClient client = Connect(server);

        Assert.Equal(isAllowed, Record.Exception(() => client.Execute([1])) is null);
    }

    [Fact]
    public static void A_handler_that_throws_is_return_code_80004005_as_on_the_original()
    {
        using RpcRawServer server = Start(
            RpcTransport.Local, (_, _) => throw new InvalidOperationException("secret"));
        using RpcRawClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => client.Execute([1]));

        Assert.Equal(0x80004005, error.NativeStatus);
        Assert.DoesNotContain("secret", error.Message);
        Assert.Contains(Interface.ToString(), error.Message);
        Assert.True(error.MayHaveExecuted);
        Assert.Equal(1, server.Counters.Errors);
    }

    [Fact]
    public static void Nothing_from_a_handler_or_no_handler_is_return_code_1715_as_on_the_original()
    {
        using RpcRawServer server = Start(RpcTransport.Local, (_, _) => null);
        using RpcRawServer bare = RpcRawServer.Create(Interface)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .StartListening();
        using RpcRawClient client = Connect(server);
        using RpcRawClient other = Connect(bare);

        Assert.Equal(1715u, Assert.Throws<RpcException>(() => client.Execute([1])).NativeStatus);
        Assert.Equal(1715u, Assert.Throws<RpcException>(() => other.Execute([1])).NativeStatus);
    }

    [Fact]
    public static void A_request_over_the_interfaces_limit_is_refused_and_the_next_call_works()
    {
        using RpcRawServer server = RpcRawServer
            .Create(Interface, new RpcRawServerOptions { MaxRequestBytes = 100 })
            .OnExecute((_, bytes) => bytes)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcRawClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => client.Execute(new byte[101]));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Equal(100, client.Execute(new byte[100]).Length);
    }

    [Fact]
    public static async Task Calls_over_the_interfaces_limit_are_refused_as_too_busy()
    {
        using ManualResetEventSlim entered = new();
        using ManualResetEventSlim leave = new();
        await using RpcRawServer server = RpcRawServer
            .Create(Interface, new RpcRawServerOptions { MaxCalls = 1 })
            .OnExecute((_, bytes) =>
            {
                entered.Set();
                leave.Wait();
                return bytes;
            })
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Local))
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcRawClient first = Connect(server);
        using RpcRawClient second = Connect(server, index: 1);
        Task<byte[]> running = Task.Run(() => first.Execute([1]));
        entered.Wait();

        RpcException error = Assert.Throws<RpcException>(() => second.Execute([2]));
        leave.Set();

        Assert.Equal(0x1C010014u, error.NativeStatus);
        Assert.False(error.MayHaveExecuted);
        Assert.Equal([1], await running);
        Assert.Equal([3], second.Execute([3]));
    }

    [Theory]
    [InlineData(RpcTransport.Local)]
    [InlineData(RpcTransport.Tcp)]
    public static async Task A_client_with_retries_repeats_calls_that_were_refused_as_too_busy(
        RpcTransport transport)
    {
        using ManualResetEventSlim entered = new();
        using ManualResetEventSlim leave = new();
        await using RpcRawServer server = RpcRawServer
            .Create(Interface, new RpcRawServerOptions { MaxCalls = 1 })
            .OnExecute((_, bytes) =>
            {
                entered.Set();
                leave.Wait();
                return bytes;
            })
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();
        using RpcRawClient first = Connect(server);
        using RpcRawClient second = RpcRawClient.Connect(
            server.Endpoints[0], Interface, new RpcClientOptions { RetryCount = 20 });
        Task<byte[]> running = Task.Run(() => first.Execute([1]));
        entered.Wait();
        RpcReplyInfo info = new();
        Task<byte[]> repeated =
            second.ExecuteAsync(new byte[] { 2 }, new RpcCallOptions { ReplyInfo = info });

        for (long end = Environment.TickCount64 + 20_000; info.Retries == 0; await Task.Delay(5))
        {
            Assert.True(Environment.TickCount64 < end, "It was not repeated in time.");
        }

        leave.Set();

        Assert.Equal([1], await running);
        Assert.Equal([2], await repeated);
    }

    [Fact]
    public static void A_request_over_the_limit_is_not_repeated()
    {
        using RpcRawServer server = RpcRawServer
            .Create(Interface, new RpcRawServerOptions { MaxRequestBytes = 100 })
            .OnExecute((_, bytes) => bytes)
            .AddEndpoint(EchoServer.NewEndpoint(RpcTransport.Tcp))
            .StartListening();
        using RpcRawClient client = RpcRawClient.Connect(
            server.Endpoints[0], Interface, new RpcClientOptions { RetryCount = 3 });
        RpcReplyInfo info = new();

        RpcException error = Assert.Throws<RpcException>(
            () => client.Execute(new byte[101], new RpcCallOptions { ReplyInfo = info }));

        Assert.Equal((RpcStatusCode.ResourceExhausted, 0), (error.Code, info.Retries));
    }

    [Fact]
    public static void Two_interfaces_share_an_endpoint()
    {
        using RpcRawServer one = Start(RpcTransport.Tcp, (_, _) => [1]);
        using RpcRawServer two = RpcRawServer.Create(Guid.NewGuid())
            .OnExecute((_, _) => [2])
            .AddEndpoint(one.Endpoints[0])
            .StartListening();
        using RpcRawClient first = Connect(one);
        using RpcRawClient second = Connect(two);

        Assert.Equal([1], first.Execute([]));
        Assert.Equal([2], second.Execute([]));
    }

    [Fact]
    public static void A_call_past_its_time_is_cancelled_on_the_server()
    {
        using ManualResetEventSlim cancelled = new();
        using RpcRawServer server = Start(RpcTransport.Local, (client, _) =>
        {
            client.CancellationToken.WaitHandle.WaitOne();
            cancelled.Set();
            return [];
        });
        using RpcRawClient client = Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Execute([], TimeSpan.FromMilliseconds(50)));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.True(cancelled.Wait(TimeSpan.FromSeconds(20)));
    }

    [Fact]
    public static void An_interface_that_is_not_served_shows_when_connecting()
    {
        using RpcRawServer server = Start(RpcTransport.Local, (_, bytes) => bytes);

        RpcException error = Assert.Throws<RpcException>(
            () => RpcRawClient.Connect(server.Endpoints[0], Guid.NewGuid()));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [Fact]
    public static void Http_has_no_raw_layer()
    {
        RpcException server = Assert.Throws<RpcException>(
            () => RpcRawServer.Create(Interface).AddEndpoint("http://127.0.0.1:0/"));
        RpcException client = Assert.Throws<RpcException>(
            () => RpcRawClient.Connect(RpcEndpoint.Parse("grpc://127.0.0.1:1"), Interface));

        Assert.Equal(RpcStatusCode.Unimplemented, server.Code);
        Assert.Contains("Raw calls work on", client.Message);
    }

    [Theory]
    [InlineData(0, null)]
    [InlineData(1, 0)]
    public static void A_limit_that_nothing_fits_in_is_refused(int maxCalls, int? maxRequestBytes)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcRawServer.Create(
            Interface, new RpcRawServerOptions { MaxCalls = maxCalls, MaxRequestBytes = maxRequestBytes }));

        Assert.Equal("InvalidLimit", error.ErrorId);
    }

    private static RpcRawServer Start(
        RpcTransport transport,
        Func<RpcRawContext, byte[], byte[]?> handler,
        RpcRawServerOptions? options = null) =>
        RpcRawServer.Create(Interface, options)
            .OnExecute(handler)
            .AddEndpoint(EchoServer.NewEndpoint(transport))
            .StartListening();

    private static RpcRawClient Connect(RpcRawServer server, int index = 0) =>
        RpcRawClient.Connect(server.Endpoints[index], server.InterfaceId);

    // Puts its number behind the request, and behind the reply.
    private sealed class Mark(byte number) : IRpcRawInterceptor
    {
        public async ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
            RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next)
        {
            ReadOnlyMemory<byte>? reply = await next(client, (byte[])[.. request.Span, number]);
            return (byte[])[.. reply!.Value.Span, number];
        }
    }
}
