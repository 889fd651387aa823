using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Tests.Client;

/// <summary>Clients of servers that are not there, not there yet,
/// or take connections and say nothing.</summary>
public static class ClientConnectingTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    public static TheoryData<RpcTransport> Native =>
        [RpcTransport.Tcp, RpcTransport.NamedPipe, RpcTransport.Local];

    [Theory]
    [MemberData(nameof(Native))]
    public static void A_lazy_client_contacts_nobody(RpcTransport transport)
    {
        using RpcClient client = Connect(Unused(transport), new() { Lazy = true });

        Assert.Equal("calls.Echo/Say", client.GetMethod("Say").FullName);
        RpcException error = Assert.Throws<RpcException>(() => Say(client));
        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
        Assert.False(error.MayHaveExecuted);
    }

    [Theory]
    [MemberData(nameof(Native))]
    public static async Task A_call_waits_for_a_server_that_comes_later(RpcTransport transport)
    {
        RpcEndpoint endpoint = Unused(transport);
        using RpcClient client = Connect(endpoint, new() { Lazy = true });
        RpcMethodInfo say = client.GetMethod("Say");
        RpcCallOptions waiting = new() { WaitForReady = true, Timeout = Patience };

        Task<DynamicMessage>[] calls =
        [
            client.InvokeAsync(say, new EchoRequest { Text = "a" }, waiting),
            Task.Run(() => client.Invoke(say, new EchoRequest { Text = "b" }, waiting)),
        ];
        await using RpcServer server = EchoServer.Create().AddEndpoint(endpoint).StartListening();

        await Task.WhenAll(calls).WaitAsync(Patience);
        Assert.Equal(2, server.Counters.Calls);
    }

    [Theory]
    [MemberData(nameof(Native))]
    public static async Task Retries_connect_again(RpcTransport transport)
    {
        RpcEndpoint endpoint = Unused(transport);

        Task<RpcClient> connecting = Task.Run(() => Connect(endpoint, new() { RetryCount = 20 }));
        await using RpcServer server = EchoServer.Create().AddEndpoint(endpoint).StartListening();
        using RpcClient client = await connecting.WaitAsync(Patience);

        Assert.Equal("x", Say(client));
    }

    [Fact]
    public static void A_call_that_waited_in_vain_did_not_run_and_says_so()
    {
        using RpcClient client = Connect(Unused(RpcTransport.Tcp), new() { Lazy = true });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("Say"), new EchoRequest { Text = "x" },
            new RpcCallOptions { WaitForReady = true, Timeout = TimeSpan.FromSeconds(0.4) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Contains("within 0.4 s; the call did not run", error.Message, StringComparison.Ordinal);
        Assert.Contains("nothing listens there", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_call_that_failed_after_it_ran_is_not_made_again()
    {
        int runs = 0;
        using RpcServer server = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) =>
            {
                runs++;
                throw new RpcException(RpcStatusCode.Unavailable, "not now");
            })
            .AddEndpoint("tcp://127.0.0.1:0")
            .StartListening();
        using RpcClient client = Connect(server.Endpoints[0], new() { RetryCount = 5 });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("Say"), new EchoRequest { Text = "x" },
            new RpcCallOptions { WaitForReady = true, Timeout = Patience }));

        Assert.Equal("not now", error.Message);
        Assert.Equal(1, runs);
    }

    [Fact]
    public static async Task A_wait_is_cancelled()
    {
        using RpcClient client = Connect(Unused(RpcTransport.Tcp), new() { Lazy = true });
        using CancellationTokenSource end = new();
        Task call = client.InvokeAsync(
            client.GetMethod("Say"), new EchoRequest { Text = "x" },
            new RpcCallOptions { WaitForReady = true, Timeout = Timeout.InfiniteTimeSpan }, end.Token);

        await end.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));
        Assert.Equal(RpcStatusCode.Cancelled, error.Code);
    }

    // Two calls over a client that never connected: one after the other, they would take twice as long.
    [Fact]
    public static async Task Calls_to_a_silent_server_do_not_wait_for_each_other()
    {
        using TcpListener silent = new(IPAddress.Loopback, 0);
        silent.Start();
        using RpcClient client = Connect(
            RpcEndpoint.Tcp("127.0.0.1", ((IPEndPoint)silent.LocalEndpoint).Port),
            new() { Lazy = true, Limits = new() { ConnectTimeout = TimeSpan.FromMinutes(1) } });
        long start = Stopwatch.GetTimestamp();

        await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => Assert.ThrowsAsync<RpcException>(
            () => client.InvokeAsync(
                client.GetMethod("Say"), new EchoRequest { Text = "x" },
                    new() { Timeout = TimeSpan.FromSeconds(2) }))));

        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalSeconds, 1.5, 12);
    }

    [Fact]
    public static async Task Raw_calls_wait_and_are_retried_as_well()
    {
        RpcEndpoint endpoint = Unused(RpcTransport.Local);
        Guid id = Guid.NewGuid();
        using RpcRawClient client = RpcRawClient.Connect(
            endpoint, id, new RpcClientOptions { Lazy = true, RetryCount = 20 });
        RpcCallOptions ready = new() { WaitForReady = true, Timeout = Patience };

        Task<byte[]>[] calls =
        [
            client.ExecuteAsync(new byte[] { 1 }),
            client.ExecuteAsync(new byte[] { 2 }, ready),
            Task.Run(() => client.Execute([3], ready)),
        ];
        await using RpcRawServer server = RpcRawServer.Create(id)
            .OnExecute((_, request) => request)
            .AddEndpoint(endpoint).StartListening();

        byte[][] replies = await Task.WhenAll(calls).WaitAsync(Patience);
        Assert.Equal([1, 2, 3], replies.Select(reply => (int)reply.Single()).Order());
    }

    [Fact]
    public static void A_ping_names_a_service_that_is_not_served()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0]);

        RpcException error =
            Assert.Throws<RpcException>(() => client.Ping(new() { Service = "calls.Nothing" }));

        Assert.Equal("ServiceNotServed", error.ErrorId);
        Assert.Equal(RpcStatusCode.NotFound, error.Code);
        Assert.Equal(["calls.Echo"], client.Ping(new() { Service = "calls.Echo" }).Services);
    }

    [Theory]
    [MemberData(nameof(Native))]
    public static void A_ping_without_a_schema_shows_what_the_server_is(RpcTransport transport)
    {
        using RpcServer server = EchoServer.Start(transport);
        using RpcClient client = RpcClient.Connect(server.Endpoints[0]);

        RpcPingResult result = client.Ping();

        Assert.Equal(("ProtoRpc", "calls.Echo"), (result.Product, Assert.Single(result.Services)));
    }

    [Fact]
    public static void A_ping_of_a_listener_that_refuses_the_caller_shows_that_it_is_there_and_no_more()
    {
        using RpcServer server = EchoServer.Start(
            RpcTransport.Tcp,
            new RpcServerOptions
            {
                Security = new RpcServerSecurity
                {
                    Authentication = RpcAuthentication.Ntlm,
                    NtlmAccounts = [NtlmAccount.From(new NetworkCredential("bob", "Pa55word"))],
                },
            });
        using RpcClient client = RpcClient.Connect(server.Endpoints[0]);

        RpcPingResult result = client.Ping();

        Assert.Equal(("", 0), (result.Product, result.Services.Count));
        Assert.Equal(0, server.Counters.Calls);
    }

    [Fact]
    public static async Task Listeners_on_one_endpoint_share_the_ping_of_the_first()
    {
        RpcServer first = EchoServer.Start(RpcTransport.Local);
        await using RpcServer second = RpcServer.Create(EchoServer.Schema, "calls.Other")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) => new EchoReply())
            .AddEndpoint(first.Endpoints[0])
            .StartListening();
        using RpcClient client = RpcClient.Connect(first.Endpoints[0]);
        Assert.Equal(["calls.Echo"], client.Ping().Services);
        Assert.Equal(["calls.Other"], client.Ping(new() { Service = "calls.Other" }).Services);
        Assert.Throws<RpcException>(() => client.Ping(new() { Service = "calls.Nothing" }));

        await first.DisposeAsync();

        Assert.Empty(client.Ping().Services);
        Assert.Equal(["calls.Other"], client.Ping(new() { Service = "calls.Other" }).Services);
    }

    // The interface is there, under the id that was given, and is that of another service.
    [Fact]
    public static void A_ping_finds_out_that_an_interface_is_that_of_another_service()
    {
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], schema: null,
            new RpcClientOptions { InterfaceId = EchoServer.Schema.GetService("calls.Echo").InterfaceId });

        RpcException error =
            Assert.Throws<RpcException>(() => client.Ping(new() { Service = "calls.Nothing" }));

        Assert.Equal("ServiceNotServed", error.ErrorId);
        Assert.Contains("calls.Echo", error.Message, StringComparison.Ordinal);
    }

    private static RpcClient Connect(RpcEndpoint endpoint, RpcClientOptions options) =>
        RpcClient.Connect(endpoint, EchoServer.Schema, options with { Service = "calls.Echo" });

    private static string Say(RpcClient client) =>
        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }).Text;

    // Where nobody listens, and a server may listen later.
    private static RpcEndpoint Unused(RpcTransport transport) => transport == RpcTransport.Tcp
        ? RpcEndpoint.Tcp("127.0.0.1", ClosedPort.FindFree())
        : EchoServer.NewEndpoint(transport);
}
