using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Http.Tests;

/// <summary>Clients of HTTP and gRPC servers that are not there yet,
/// and what calls and pings say then.</summary>
public static class LazyClientTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public static async Task A_call_over_http_waits_for_a_server_that_comes_later()
    {
        string endpoint = Unused("http://127.0.0.1:0/");
        using RpcClient client = RpcClient.Connect(
            RpcEndpoint.Parse(endpoint), SearchServer.Schema, new RpcClientOptions { Lazy = true });
        RpcMethodInfo search = client.GetMethod("Search");
        DynamicMessage request = DynamicMessage.Parse(SearchServer.RequestType, SearchServer.Request("x"));
        RpcCallOptions waiting = new() { WaitForReady = true, Timeout = Patience };

        Task<DynamicMessage>[] calls =
        [
            client.InvokeAsync(search, request, waiting),
            Task.Run(() => client.Invoke(search, request, waiting)),
        ];
        using SearchServer server = new(endpoint: endpoint);

        await Task.WhenAll(calls).WaitAsync(Patience);
        server.Server.RequireCounts(counts => counts.Calls == 2);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static void A_call_that_waited_in_vain_did_not_run_and_says_so(string kind)
    {
        using RpcClient client = Lazy(Unused(kind));

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("Say"), WordsServer.Text("x"),
            new RpcCallOptions { WaitForReady = true, Timeout = TimeSpan.FromSeconds(0.4) }));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.False(error.MayHaveExecuted);
        Assert.Contains("the call did not run", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_stream_of_replies_is_waited_for(string kind)
    {
        string endpoint = Unused(kind);
        using RpcClient client = Lazy(endpoint);
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("Split"), new RpcCallOptions { WaitForReady = true, Timeout = Patience });
        await call.SendAsync(WordsServer.Text("one two"));
        await call.CompleteAsync();
        Task<bool> reading = call.ReadAsync().AsTask();

        using WordsServer server = new(endpoint);

        Assert.True(await reading.WaitAsync(Patience));
        Assert.Equal("one", WordsServer.TextOf(call.Current));
    }

    [Fact]
    public static async Task A_stream_of_requests_is_waited_for()
    {
        string endpoint = Unused("grpc://127.0.0.1:0");
        using RpcClient client = Lazy(endpoint);
        await using RpcStreamingCall call = client.Open(
            client.GetMethod("Join"), new RpcCallOptions { WaitForReady = true, Timeout = Patience });
        Task<bool> sending = call.SendAsync(WordsServer.Text("one")).AsTask();

        using WordsServer server = new(endpoint);

        Assert.True(await sending.WaitAsync(Patience));
        await call.CompleteAsync();
        Assert.True(await call.ReadAsync());
        Assert.Equal("one", WordsServer.TextOf(call.Current));
    }

    // The status is that of a listener that is busy, too, and the handler ran.
    [Fact]
    public static void A_handler_that_is_unavailable_over_http_is_not_called_again()
    {
        using WordsServer server = new("http://127.0.0.1:0/");
        using RpcClient client = Lazy(server.Endpoint.Uri, new() { RetryCount = 5 });

        RpcException error = Assert.Throws<RpcException>(() => client.Invoke(
            client.GetMethod("Say"), WordsServer.Text("unavailable"),
            new RpcCallOptions { WaitForReady = true, Timeout = Patience }));

        Assert.Equal("not now", error.Message);
        server.Server.RequireCounts(counts => counts.Calls == 1);
    }

    [Fact]
    public static void A_server_that_breaks_off_is_not_called_again()
    {
        using TcpListener rude = new(IPAddress.Loopback, 0);
        rude.Start();
        int called = 0;
        Thread accepting = new(() =>
        {
            try
            {
                while (true)
                {
                    using TcpClient caller = rude.AcceptTcpClient();
                    called += IsCall(caller) ? 1 : 0;
                }
            }
            catch (Exception e) when (e is SocketException or InvalidOperationException)
            {
            }
        })
        { IsBackground = true };
        accepting.Start();
        using RpcClient client = Lazy(
            $"http://127.0.0.1:{((IPEndPoint)rude.LocalEndpoint).Port}/", new() { RetryCount = 5 });

        RpcException error = Assert.Throws<RpcException>(
            () => client.Invoke(client.GetMethod("Say"), WordsServer.Text(new string('x', 400))));

        Assert.True(error.MayHaveExecuted);
        Assert.Equal(1, Volatile.Read(ref called));
    }

    [Fact]
    public static async Task A_stream_is_one_call_and_counts_when_it_has_ended()
    {
        using WordsServer server = new();
        using RpcClient client = server.Connect();

        await using (RpcStreamingCall call = client.Open(client.GetMethod("Split")))
        {
            Assert.Equal(0, client.CallCount);
            await call.SendAsync(WordsServer.Text("one"));
            await call.CompleteAsync();
            while (await call.ReadAsync())
            {
            }

            Assert.Equal(1, client.CallCount);
        }

        Assert.Equal(1, client.CallCount);
        await using (client.Open(client.GetMethod("Split")))
        {
        }

        Assert.Equal(2, client.CallCount);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    public static async Task A_stream_that_failed_fails_at_each_further_read(string kind)
    {
        using WordsServer server = new(kind);
        using RpcClient client = Lazy(server.Endpoint.Uri);
        await using RpcStreamingCall call = client.Open(client.GetMethod("Split"));
        await call.SendAsync(WordsServer.Text("one fail"));
        await call.CompleteAsync();
        Assert.True(await call.ReadAsync());

        for (int i = 0; i < 3; i++)
        {
            RpcException error = await Assert.ThrowsAsync<RpcException>(async () => await call.ReadAsync());
            Assert.Equal(RpcStatusCode.Aborted, error.Code);
        }
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/", "")]
    [InlineData("http://127.0.0.1:0/below/", "")]
    [InlineData("http://127.0.0.1:0/", "streams.proto/")]
    [InlineData("grpc://127.0.0.1:0", "")]
    public static void A_ping_shows_what_the_server_is_and_names_a_service_that_is_not_served(
        string kind, string file)
    {
        using WordsServer server = new(kind);
        using RpcClient client = RpcClient.Connect(server.Endpoint.Uri + file);

        RpcPingResult result = client.Ping(new() { Service = "streams.Words" });
        RpcException error =
            Assert.Throws<RpcException>(() => client.Ping(new() { Service = "streams.Nothing" }));

        Assert.Equal("ProtoRpc", result.Product);
        Assert.Matches(@"^\d+\.\d+\.\d+$", result.Version);
        Assert.Equal(["streams.Words"], result.Services);
        Assert.True(result.Uptime > TimeSpan.Zero);
        Assert.Equal("ServiceNotServed", error.ErrorId);
        Assert.Contains("'streams.Nothing'", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public static void A_ping_finds_services_without_health_by_our_own_ping()
    {
        using WordsServer server = new(http: new() { EnableHealth = false, EnableReflection = false });
        using RpcClient client = RpcClient.Connect(server.Endpoint, WordsServer.Schema);

        Assert.Equal("", client.Ping(new() { Service = "streams.Words" }).Health);
        Assert.Equal(
            "ServiceNotServed",
            Assert.Throws<RpcException>(
                () => RpcClient.Connect(server.Endpoint, new() { Lazy = true })
                    .Ping(new() { Service = "streams.Nothing" })).ErrorId);
    }

    private static RpcClient Lazy(string endpoint, RpcClientOptions? options = null) => RpcClient.Connect(
        RpcEndpoint.Parse(endpoint), WordsServer.Schema,
        (options ?? new()) with { Lazy = true, Service = "streams.Words" });

    // Not each connection is one: the client also asks what a server speaks that breaks off.
    private static bool IsCall(TcpClient caller)
    {
        byte[] head = new byte[200];
        try
        {
            int count = caller.GetStream().ReadAtLeast(head, head.Length, throwOnEndOfStream: false);
            return head.AsSpan(0, count).StartsWith("POST "u8);
        }
        catch (IOException)
        {
            return false;
        }
    }

    // Where nobody listens, and a server may listen later.
    private static string Unused(string kind)
    {
        using WordsServer server = new(kind);
        return server.Endpoint.Uri;
    }
}
