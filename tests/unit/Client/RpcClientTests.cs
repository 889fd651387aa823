namespace ProtoRpc.Tests.Client;

public static class RpcClientTests
{
    [Fact]
    public static async Task Many_threads_share_one_client()
    {
        await using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        await Parallel.ForAsync(0, 2000, new ParallelOptions { MaxDegreeOfParallelism = 16 }, (i, _) =>
        {
            Assert.Equal($"{i}", client.Invoke<EchoReply>("Say", new EchoRequest { Text = $"{i}" }).Text);
            return ValueTask.CompletedTask;
        });

        Assert.Equal(2000, client.CallCount);
        Assert.Equal(2000, server.Counters.Calls);
    }

    [Fact]
    public static async Task Calls_without_holding_a_thread()
    {
        await using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = EchoServer.Connect(server);
        RpcMethodInfo method = client.GetMethod("Say");

        DynamicMessage[] replies = await Task.WhenAll(Enumerable.Range(0, 20).Select(
            i => client.InvokeAsync(method, new EchoRequest { Text = $"{i}" })));

        Assert.Equal(
            Enumerable.Range(0, 20).Select(i => $"{i}"),
            replies.Select(r => r.Get(method.ReplyType.FindField("text")!)));
    }

    [Fact]
    public static async Task Calls_with_generated_classes_without_holding_a_thread()
    {
        await using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = EchoServer.Connect(server);

        EchoReply[] replies = await Task.WhenAll(Enumerable.Range(0, 20).Select(
            i => client.InvokeAsync<EchoReply>("Say", new EchoRequest { Text = $"{i}" })));

        Assert.Equal(Enumerable.Range(0, 20).Select(i => $"{i}"), replies.Select(reply => reply.Text));
        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync<EchoReply>("Say", new EchoRequest()));
        Assert.Equal("EchoRequest.text", error.FieldPath);
    }

    [Fact]
    public static void Connects_anew_after_the_server_was_restarted()
    {
        RpcServer first = EchoServer.Start(RpcTransport.Local);
        RpcEndpoint endpoint = first.Endpoints[0];
        using RpcClient client = EchoServer.Connect(first);
        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "1" });
        first.Dispose();
        using RpcServer second = EchoServer.Create().AddEndpoint(endpoint).StartListening();

        EchoReply reply = client.Invoke<EchoReply>("Say", new EchoRequest { Text = "2" });

        Assert.Equal("2", reply.Text);
    }

    [Fact]
    public static void The_deadline_ends_a_call()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke<EchoReply>(
            "Wait", new EchoRequest { Text = "x" }, new() { Timeout = TimeSpan.FromMilliseconds(100) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("calls.Echo/Wait", error.MethodName);
        Assert.Equal("again", client.Invoke<EchoReply>("Say", new EchoRequest { Text = "again" }).Text);
    }

    [Theory]
    [InlineData(RpcTransport.Tcp)]
    [InlineData(RpcTransport.NamedPipe)]
    [InlineData(RpcTransport.Local)]
    public static void Nobody_there_is_said_at_once(RpcTransport transport)
    {
        RpcServer server = EchoServer.Start(transport);
        RpcEndpoint endpoint = server.Endpoints[0];
        server.Dispose();

        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect(endpoint, EchoServer.Schema, new() { Service = "Echo" }));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Contains(endpoint.ToString(), error.Message);
    }

    [Fact]
    public static void A_service_that_is_not_served_there_is_said_when_connecting()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);

        RpcException error = Assert.Throws<RpcException>(
            () => RpcClient.Connect(server.Endpoints[0], EchoServer.Schema, new() { Service = "Other" }));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
    }

    [Fact]
    public static void A_method_that_streams_is_refused_with_the_endpoints_that_carry_it()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Watch"), new EchoRequest { Text = "x" }));

        Assert.Equal(RpcStatusCode.Unimplemented, error.Code);
        Assert.Contains("grpc://", error.Message);
    }

    [Fact]
    public static void A_request_of_another_type_is_refused_before_it_is_sent()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoReply { Text = "x" }));

        Assert.Contains("takes the message calls.EchoRequest, not calls.EchoReply", error.Message);
        Assert.Equal(0, server.Counters.Calls);
    }

    [Fact]
    public static void A_request_that_lacks_a_required_field_is_refused_before_it_is_sent()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(server);

        RpcException error =
            Assert.Throws<RpcException>(() => client.Invoke<EchoReply>("Say", new EchoRequest()));

        Assert.Equal("MissingRequiredField", error.ErrorId);
        Assert.Equal(0, server.Counters.Calls);
    }

    [Fact]
    public static void A_request_over_the_limit_is_refused_before_it_is_sent()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        using RpcClient client = EchoServer.Connect(
            server, new RpcClientOptions { Limits = new RpcLimits { MaxMessageBytes = 1000 } });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = new string('x', 1000) }));

        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
        Assert.Contains("1,003 bytes; the limit is 1,000", error.Message);
    }

    [Fact]
    public static void A_ping_tells_what_the_server_says_of_itself()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = EchoServer.Connect(server);

        RpcPingResult ping = client.Ping();

        Assert.Equal("ProtoRpc", ping.Product);
        Assert.Equal(["calls.Echo"], ping.Services);
        Assert.True(ping.Latency > TimeSpan.Zero);
        Assert.NotNull(ping.Uptime);
    }

    [Fact]
    public static void A_ping_without_a_schema_finds_out_that_a_server_is_there()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0]);

        RpcPingResult ping = client.Ping();

        Assert.Equal("ProtoRpc", ping.Product);
        Assert.Equal(server.Endpoints[0], ping.Endpoint);
    }

    [Fact]
    public static void A_closed_client_refuses_calls()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Local);
        RpcClient client = EchoServer.Connect(server);

        client.Dispose();

        Assert.False(client.IsOpen);
        Assert.Throws<ObjectDisposedException>(
            () => client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }));
    }

    [Fact]
    public static void An_http_endpoint_where_nobody_listens_is_found_out_when_connecting()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect("http://127.0.0.1:1/"));

        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
    }
}
