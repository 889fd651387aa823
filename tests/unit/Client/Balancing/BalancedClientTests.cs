using System.Net;
using System.Net.Sockets;
using Google.Protobuf;
using ProtoRpc.Tests.Messages;
using ProtoRpc.Tests.Transports;

namespace ProtoRpc.Tests.Client.Balancing;

/// <summary>One client over several listeners of this process.</summary>
public static class BalancedClientTests
{
    [Fact]
    public static void Round_robin_calls_each_in_turn()
    {
        using Servers servers = new(3);
        using RpcClient client = servers.Connect(RpcLoadBalancing.RoundRobin);

        string[] said = [.. Enumerable.Range(0, 9).Select(_ => Call(client))];

        Assert.Equal(["server 0", "server 1", "server 2"], said.Order().Distinct());
        Assert.All(said.CountBy(name => name), count => Assert.Equal(3, count.Value));
    }

    [Fact]
    public static void Errors_and_what_comes_with_replies_name_the_server_of_the_call()
    {
        using Servers servers = new(2);
        using RpcClient client = servers.Connect(RpcLoadBalancing.RoundRobin);
        HashSet<RpcEndpoint?> failed = [];

        // The turns of three calls: each method comes to both servers.
        for (int i = 0; i < 6; i++)
        {
            RpcReplyInfo info = new();
            EchoRequest request = new() { Text = "x" };
            if (i % 3 == 0)
            {
                RpcException error = Assert.Throws<RpcException>(
                    () => client.Invoke<EchoReply>("Fail", request, new() { ReplyInfo = info }));
                Assert.Equal(info.Endpoint, error.Endpoint);
                failed.Add(error.Endpoint);
            }
            else
            {
                EchoReply reply = client.Invoke<EchoReply>("Say", request, new() { ReplyInfo = info });
                Assert.Equal($"server {servers.Endpoints.ToList().IndexOf(info.Endpoint!)}", reply.Text);
            }
        }

        Assert.Equal(servers.Endpoints.ToHashSet<RpcEndpoint?>(), failed);
    }

    [Fact]
    public static void Pick_first_stays_with_the_first_and_goes_on_to_the_next_when_it_has_gone()
    {
        using Servers servers = new(2);
        using RpcClient client = servers.Connect(RpcLoadBalancing.PickFirst);
        Assert.Equal(["server 0", "server 0"], [Call(client), Call(client)]);

        servers.Stop(0);
        ForgetConnection(client);

        Assert.Equal(["server 1", "server 1"], [Call(client), Call(client)]);
    }

    [Fact]
    public static void A_server_that_is_not_there_is_left_out()
    {
        using Servers servers = new(3);
        servers.Stop(1);
        using RpcClient client = servers.Connect(RpcLoadBalancing.RoundRobin);

        Assert.All(Enumerable.Range(0, 12).Select(_ => Call(client)), name => Assert.NotEqual(
            "server 1", name));
    }

    [Fact]
    public static async Task A_server_that_came_back_gets_calls_again()
    {
        using Servers servers = new(2);
        servers.Stop(1);
        using RpcClient client = servers.Connect(RpcLoadBalancing.RoundRobin);
        Assert.Equal(["server 0", "server 0"], [Call(client), Call(client)]);

        servers.Start(1);

        await Eventually.TrueAsync(() => Call(client) == "server 1", "the server is called again");
    }

    [Fact]
    public static async Task Calls_without_a_thread_are_balanced_too()
    {
        using Servers servers = new(2);
        servers.Stop(0);
        using RpcClient client = servers.Connect(RpcLoadBalancing.RoundRobin);
        RpcMethodInfo say = client.GetMethod("Say");

        for (int i = 0; i < 4; i++)
        {
            Assert.NotNull(await client.InvokeAsync(say, new EchoRequest { Text = "x" }));
        }
    }

    [Fact]
    public static async Task A_call_that_was_cancelled_before_it_connects_fails_as_that()
    {
        using Servers servers = new(2);
        using RpcClient client = servers.Connect(RpcLoadBalancing.RoundRobin);

        // One of them is the turn of a server that has no connection yet.
        for (int i = 0; i < 2; i++)
        {
            CancellationToken token = new(canceled: true);
            OperationCanceledException error = await Assert.ThrowsAnyAsync<OperationCanceledException>(
                () => client.InvokeAsync<EchoReply>(
                    "Say", new EchoRequest { Text = "x" }, cancellationToken: token));

            Assert.Equal(token, error.CancellationToken);
        }
    }

    [Fact]
    public static void A_server_that_takes_connections_and_says_nothing_is_left_out()
    {
        using TcpListener silent = new(IPAddress.Loopback, 0);
        silent.Start();
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        RpcEndpoint first = RpcEndpoint.Tcp("127.0.0.1", ((IPEndPoint)silent.LocalEndpoint).Port);

        using RpcClient client = RpcClient.Connect(
            [first, server.Endpoints[0]], RpcLoadBalancing.PickFirst, EchoServer.Schema,
            new RpcClientOptions
            {
                Service = "calls.Echo",
                Limits = new() { ConnectTimeout = TimeSpan.FromSeconds(2) },
            });

        Assert.Equal("x", Call(client));
    }

    [Fact]
    public static void No_further_server_is_tried_after_the_deadline()
    {
        using TcpListener first = new(IPAddress.Loopback, 0);
        using TcpListener second = new(IPAddress.Loopback, 0);
        first.Start();
        second.Start();
        using RpcServer server = EchoServer.Start(RpcTransport.Tcp);
        int[] silent = [((IPEndPoint)first.LocalEndpoint).Port, ((IPEndPoint)second.LocalEndpoint).Port];
        using RpcClient client = RpcClient.Connect(
            [server.Endpoints[0], .. silent.Select(port => RpcEndpoint.Tcp("127.0.0.1", port))],
            RpcLoadBalancing.PickFirst, EchoServer.Schema,
            new RpcClientOptions
            {
                Service = "calls.Echo",
                Limits = new() { ConnectTimeout = TimeSpan.FromSeconds(20) },
            });
        server.Dispose();
        RpcException error = null!;
        long start = 0;

        // The first may still be lost over the connection that the server closed.
        for (int i = 0; i < 2; i++)
        {
            start = Environment.TickCount64;
            error = Assert.Throws<RpcException>(() => client.Invoke<EchoReply>(
                "Say", new EchoRequest { Text = "x" }, new() { Timeout = TimeSpan.FromSeconds(1) }));
        }

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.Equal("NoServerReached", error.ErrorId);
        Assert.Single(silent, port => error.Message.Contains($"[{port}]", StringComparison.Ordinal));
        Assert.InRange(Environment.TickCount64 - start, 900, 10_000);
    }

    // Dialling a server under a lock would hold up the calls that could have gone elsewhere.
    [Fact]
    public static async Task Calls_to_a_silent_server_have_their_own_time_each()
    {
        using TcpListener silent = new(IPAddress.Loopback, 0);
        silent.Start();
        int port = ((IPEndPoint)silent.LocalEndpoint).Port;
        using RpcClient client = RpcClient.Connect(
            [RpcEndpoint.Tcp("127.0.0.1", port)], RpcLoadBalancing.RoundRobin, EchoServer.Schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = true });
        long start = Environment.TickCount64;

        await Task.WhenAll(Enumerable.Range(0, 6).Select(i => Assert.ThrowsAsync<RpcException>(() =>
            i % 2 == 0
                ? Task.Run(() => client.Invoke<EchoReply>(
                    "Say", new EchoRequest { Text = "x" }, new() { Timeout = TimeSpan.FromSeconds(1) }))
                : client.InvokeAsync<EchoReply>(
                    "Say", new EchoRequest { Text = "x" }, new() { Timeout = TimeSpan.FromSeconds(1) }))));

        Assert.InRange(Environment.TickCount64 - start, 900, 5_000);
    }

    [Fact]
    public static void A_call_that_may_have_run_is_not_repeated()
    {
        using Servers servers = new(2);
        using RpcClient client = servers.Connect(RpcLoadBalancing.PickFirst);

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke<EchoReply>("Fail", new EchoRequest { Text = "once" }));

        Assert.Equal(1, servers.Failures);
        Assert.Equal(RpcStatusCode.Unavailable, error.Code);
    }

    [Fact]
    public static void That_none_is_there_is_told_with_the_reason_of_each()
    {
        using Servers servers = new(2);
        servers.Stop(0);
        servers.Stop(1);

        RpcException error = Assert.Throws<RpcException>(() => servers.Connect(RpcLoadBalancing.RoundRobin));

        Assert.Equal("NoServerReached", error.ErrorId);
        Assert.All(servers.Endpoints, endpoint => Assert.Contains(
            endpoint.ToString(), error.Message, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task A_retry_calls_each_server_and_no_attempt_encodes_the_request_again(bool isAsync)
    {
        const int Retries = 2;
        RpcSchema schema = RpcSchema.FromDescriptors(TestServers.CallsReflection.Descriptor);
        using Servers servers = new(2);
        servers.Stop(0);
        servers.Stop(1);
        using RpcClient client = RpcClient.Connect(
            servers.Endpoints, RpcLoadBalancing.RoundRobin, schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = true, RetryCount = Retries });
        PassCount count = new(schema.GetMessage("calls.EchoRequest"));
        RpcCallOptions options = new() { ReplyInfo = new RpcReplyInfo() };

        RpcException error = await Assert.ThrowsAsync<RpcException>(async () => _ = isAsync
            ? await client.InvokeAsync("Say", new { text = "x" }, options)
            : client.Invoke("Say", new { text = "x" }, options));

        Assert.Equal("NoServerReached", error.ErrorId);
        Assert.All(servers.Endpoints, endpoint => Assert.Contains(
            endpoint.ToString(), error.Message, StringComparison.Ordinal));
        Assert.Equal((Retries, 1), (options.ReplyInfo.Retries, count.Now.Encodes));
    }

    [Fact]
    public static async Task A_call_waits_until_one_of_the_servers_is_there()
    {
        using Servers servers = new(2);
        servers.Stop(0);
        servers.Stop(1);
        using RpcClient client = servers.Connect(RpcLoadBalancing.PickFirst, isLazy: true);
        Task<EchoReply> call = client.InvokeAsync<EchoReply>(
            "Say", new EchoRequest { Text = "x" },
            new() { WaitForReady = true, Timeout = TimeSpan.FromSeconds(30) });

        servers.Start(1);

        Assert.Equal("server 1", (await call).Text);
    }

    [Fact]
    public static void A_ping_goes_to_a_server_that_is_there()
    {
        using Servers servers = new(2);
        servers.Stop(0);
        using RpcClient client = servers.Connect(RpcLoadBalancing.PickFirst, isLazy: true);

        Assert.Equal(servers.Endpoints[1], client.Ping().Endpoint);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public static async Task An_upload_goes_to_the_next_server_if_its_stream_can_seek(bool canSeek)
    {
        using Servers servers = new(2);
        servers.Stop(0);
        using RpcClient client = servers.Connect(RpcLoadBalancing.PickFirst, isLazy: true);
        RpcMethodInfo say = client.GetMethod("Say");
        using UploadedStream request = new(new EchoRequest { Text = "x" }.ToByteArray(), canSeek);

        Exception? error = await Record.ExceptionAsync(() => client.UploadAsync(say, request));

        Assert.Equal(canSeek ? null : RpcStatusCode.Unavailable, (error as RpcException)?.Code);

        // The server that was not reached rests, so the next call goes to another one.
        using UploadedStream next = new(new EchoRequest { Text = "x" }.ToByteArray(), canSeek: false);
        Assert.Equal("server 1", (string?)client.Upload(say, next)["text"]);
    }

    [Fact]
    public static void Says_once_why_many_servers_cannot_be_reached()
    {
        // All at the same time: if each were freed at once, two of the ports could be the same.
        ClosedPort[] closed = [.. Enumerable.Range(0, 20).Select(_ => new ClosedPort())];
        RpcException error;
        try
        {
            RpcEndpoint[] dead = [.. closed.Select(port => RpcEndpoint.Tcp("127.0.0.1", port.Number))];
            error = Assert.Throws<RpcException>(() =>
            {
                using RpcClient client =
                    RpcClient.Connect(dead, RpcLoadBalancing.PickFirst, EchoServer.Schema);
                client.Invoke<EchoReply>("calls.Echo/Say", new EchoRequest { Text = "x" });
            });
        }
        finally
        {
            Array.ForEach(closed, port => port.Dispose());
        }

        Assert.StartsWith("None of 20 servers can be reached. ", error.Message, StringComparison.Ordinal);
        Assert.Contains(" The same applies to 'ncacn_ip_tcp:", error.Message, StringComparison.Ordinal);
        Assert.EndsWith(" and 15 more.", error.Message, StringComparison.Ordinal);
        Assert.InRange(error.Message.Length, 100, 600);
    }

    [Fact]
    public static void Endpoints_of_two_kinds_are_refused()
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcClient.Connect(
            [RpcEndpoint.Parse("ncalrpc:[a]"), RpcEndpoint.Parse("tcp://127.0.0.1:1")],
            RpcLoadBalancing.RoundRobin,
            EchoServer.Schema));

        Assert.Equal("MixedEndpoints", error.ErrorId);
    }

    private static string Call(RpcClient client) =>
        client.Invoke<EchoReply>("Say", new EchoRequest { Text = "x" }).Text;

    // The connection that the server closed is found out by the call that is sent over it.
    private static void ForgetConnection(RpcClient client)
    {
        RpcException? lost = Record.Exception(() => Call(client)) as RpcException;
        Assert.True(lost is null or { MayHaveExecuted: true });
    }

    private sealed class Servers : IDisposable
    {
        private readonly RpcServer?[] _servers;
        private int _failures;

        public Servers(int count)
        {
            _servers = new RpcServer?[count];
            Endpoints = [.. Enumerable.Range(0, count).Select(
                _ => EchoServer.NewEndpoint(RpcTransport.Local))];
            for (int i = 0; i < count; i++)
            {
                Start(i);
            }
        }

        public IReadOnlyList<RpcEndpoint> Endpoints { get; }

        public int Failures => Volatile.Read(ref _failures);

        public void Start(int index) => _servers[index] = RpcServer.Create(EchoServer.Schema, "calls.Echo")
            .Handle<EchoRequest, EchoReply>("Say", (_, _) => new EchoReply { Text = $"server {index}" })
            .Handle<EchoRequest, EchoReply>("Fail", (_, _) =>
            {
                Interlocked.Increment(ref _failures);
                throw new RpcException(RpcStatusCode.Unavailable, "busy");
            })
            .AddEndpoint(Endpoints[index])
            .StartListening();

        public void Stop(int index)
        {
            _servers[index]?.Dispose();
            _servers[index] = null;
        }

        public RpcClient Connect(RpcLoadBalancing balancing, bool isLazy = false) => RpcClient.Connect(
            Endpoints, balancing, EchoServer.Schema,
            new RpcClientOptions { Service = "calls.Echo", Lazy = isLazy });

        public void Dispose()
        {
            for (int i = 0; i < _servers.Length; i++)
            {
                Stop(i);
            }
        }
    }

    private sealed class UploadedStream(byte[] bytes, bool canSeek) : MemoryStream(bytes)
    {
        public override bool CanSeek => canSeek;

        public override long Position
        {
            get => base.Position;
            set => base.Position = canSeek ? value : throw new NotSupportedException();
        }
    }
}
