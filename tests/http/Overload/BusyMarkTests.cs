using System.Net;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>A server that is too busy says that the call did not run, and clients with retries call
/// again.</summary>
public static class BusyMarkTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);
    private static readonly RpcLimits One = new() { MaxConcurrentCalls = 1, MaxQueuedCalls = 0 };

    public static TheoryData<string> Protocols => [.. BusyServer.AllFaces];

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task A_call_to_a_busy_server_did_not_run(string protocol)
    {
        using BusyServer server = new(protocol, One);
        using RpcClient client = server.Connect();
        _ = BusyServer.CallAsync(client, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");

        RpcException refusal = await Assert.ThrowsAsync<RpcException>(
            () => BusyServer.CallAsync(client, "refused"));

        Assert.Equal(RpcStatusCode.ResourceExhausted, refusal.Code);
        Assert.False(refusal.MayHaveExecuted);
    }

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task A_client_with_retries_calls_again_until_the_server_has_room(string protocol)
    {
        using BusyServer server = new(protocol, One);
        using RpcClient holder = server.Connect();
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema, new() { RetryCount = 10 });
        Task<DynamicMessage> held = BusyServer.CallAsync(holder, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");
        RpcReplyInfo info = new();

        Task<DynamicMessage> call = client.InvokeAsync(
            "Search", new { query = "again" }, new() { ReplyInfo = info });
        await BusyServer.UntilAsync(() => server.Counters.Refused == 1, "it is refused");
        server.Gate.Release();

        Assert.NotNull(await call.WaitAsync(Patience));
        Assert.InRange(info.Retries, 1, 10);
        Assert.Equal(["hold", "again"], server.Begun);
        await held.WaitAsync(Patience);
    }

    [Theory]
    [InlineData("http")]
    [InlineData("tcp")]
    [InlineData("inproc")]
    [InlineData("grpc")]
    public static async Task A_retry_that_would_come_after_the_deadline_is_not_made(string protocol)
    {
        using BusyServer server = new(protocol, One);
        using RpcClient holder = server.Connect();
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema, new() { RetryCount = 10 });
        _ = BusyServer.CallAsync(holder, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");

        RpcException refusal = await Assert.ThrowsAsync<RpcException>(
            () => BusyServer.CallAsync(client, "refused", TimeSpan.FromSeconds(0.9)));

        Assert.Equal(RpcStatusCode.ResourceExhausted, refusal.Code);
        Assert.Equal(1, server.Counters.Refused);
    }

    [Fact]
    public static async Task Http_says_503_with_Retry_After_and_the_mark()
    {
        using BusyServer server = new("http", One);
        using RpcClient holder = server.Connect();
        _ = BusyServer.CallAsync(holder, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");
        using HttpClient http = new() { BaseAddress = new(server.Endpoint.Uri) };

        using HttpResponseMessage answer = await http.PostAsync(
            "ProtoService.SearchService/Search", new ByteArrayContent([]));

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Equal(TimeSpan.FromSeconds(1), answer.Headers.RetryAfter?.Delta);
        Assert.Equal(["1"], answer.Headers.GetValues("protorpc-busy"));
    }

    [Fact]
    public static async Task Grpc_says_so_in_trailers_alone_with_the_pushback()
    {
        using BusyServer server = new("grpc", One);
        using RpcClient client = server.Connect();
        _ = BusyServer.CallAsync(client, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");
        using HttpClient http = new();
        using HttpRequestMessage request = new(
            HttpMethod.Post,
            $"http://127.0.0.1:{server.Endpoint.Port}/ProtoService.SearchService/Search")
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = new ByteArrayContent([0, 0, 0, 0, 0]),
        };
        request.Content.Headers.ContentType = new("application/grpc");

        using HttpResponseMessage answer = await http.SendAsync(request);

        Assert.Equal(["8"], answer.Headers.GetValues("grpc-status"));
        Assert.Equal(["1"], answer.Headers.GetValues("protorpc-busy"));
        Assert.Equal(["1000"], answer.Headers.GetValues("grpc-retry-pushback-ms"));
    }

    [Fact]
    public static async Task A_handler_whose_own_call_was_refused_has_run()
    {
        using BusyServer behind = new("tcp", One);
        using RpcClient client = behind.Connect();
        _ = BusyServer.CallAsync(client, "hold");
        await BusyServer.UntilAsync(() => behind.Begun.Count == 1, "one runs");
        int ran = 0;
        using RpcServer server = RpcServer.Create(
            SearchServer.Schema, null, new RpcServerOptions().WithHttp())
            .Handle("Search", async (context, request) =>
            {
                Interlocked.Increment(ref ran);
                return await BusyServer.CallAsync(client, "refused");
            })
            .AddEndpoint("http://127.0.0.1:0")
            .AddEndpoint("grpc://127.0.0.1:0")
            .AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]")
            .StartListening();
        foreach (RpcEndpoint endpoint in server.Endpoints)
        {
            ran = 0;
            using RpcClient caller = RpcClient.Connect(
                endpoint, SearchServer.Schema, new() { RetryCount = 3 });

            RpcException error = await Assert.ThrowsAsync<RpcException>(
                () => BusyServer.CallAsync(caller, "x"));

            Assert.Equal((1, true), (ran, error.MayHaveExecuted));
        }

        Assert.Equal(0, server.Counters.Refused);
    }

    [Theory]
    [InlineData("http://127.0.0.1:0/")]
    [InlineData("grpc://127.0.0.1:0")]
    [InlineData("inproc")]
    public static async Task A_stream_of_replies_is_repeated_and_one_of_requests_is_not(string endpoint)
    {
        using WordsServer server = new(
            endpoint == "inproc" ? $"inproc://{Guid.NewGuid():N}" : endpoint, new() { Limits = One });
        using RpcClient holder = server.Connect();
        using RpcClient client = server.Connect(new() { RetryCount = 10 });
        using CancellationTokenSource end = new();
        Task held = holder.InvokeAsync("Say", WordsServer.Text("wait"), null, end.Token);
        await server.Waiting.Task.WaitAsync(Patience);
        if (!endpoint.StartsWith("http", StringComparison.Ordinal))
        {
            await using RpcStreamingCall join = client.Open("Join");
            RpcException refused = await Assert.ThrowsAsync<RpcException>(async () =>
            {
                await join.SendAsync(WordsServer.Text("a"));
                await join.CompleteAsync();
                await join.ReadAsync();
            });
            Assert.Equal(
                (RpcStatusCode.ResourceExhausted, false), (refused.Code, refused.MayHaveExecuted));
        }

        long before = server.Server.Counters.Refused;
        Task<List<string>> words = ReadAsync();
        await BusyServer.UntilAsync(() => server.Server.Counters.Refused > before, "it is refused");
        await end.CancelAsync();

        Assert.Equal(["a", "b"], await words.WaitAsync(Patience));
        await Assert.ThrowsAnyAsync<Exception>(() => held);

        async Task<List<string>> ReadAsync()
        {
            List<string> read = [];
            await foreach (DynamicMessage word in client.InvokeServerStreamAsync(
                "Split", WordsServer.Text("a b")))
            {
                read.Add(WordsServer.TextOf(word));
            }

            return read;
        }
    }

    [Fact]
    public static async Task A_busy_server_of_several_does_not_move_its_calls_to_the_others_at_once()
    {
        using BusyServer busy = new("tcp", One);
        using BusyServer other = new("tcp", One);
        using RpcClient holder = busy.Connect();
        _ = BusyServer.CallAsync(holder, "hold");
        await BusyServer.UntilAsync(() => busy.Begun.Count == 1, "one runs");
        using RpcClient patient = RpcClient.Connect(
            [busy.Endpoint, other.Endpoint], RpcLoadBalancing.RoundRobin, SearchServer.Schema,
            new() { RetryCount = 3 });
        using RpcClient hasty = RpcClient.Connect(
            [busy.Endpoint, other.Endpoint], RpcLoadBalancing.PickFirst, SearchServer.Schema, new());

        RpcException refused = await Assert.ThrowsAsync<RpcException>(
            () => BusyServer.CallAsync(hasty, "refused"));

        Assert.Equal(RpcStatusCode.ResourceExhausted, refused.Code);
        Assert.Empty(other.Begun);

        // With retries, the next attempt goes to the next server.
        for (int i = 0; i < 2; i++)
        {
            Assert.NotNull(await BusyServer.CallAsync(patient, "again"));
        }

        Assert.Equal(["again", "again"], other.Begun);
    }

    [Theory]
    [InlineData("tcp", "http")]
    [InlineData("http", "grpc")]
    [InlineData("grpc", "tcp")]
    public static async Task A_gateway_passes_it_on(string front, string back)
    {
        using BusyServer server = new(back, One);
        using RpcClient holder = server.Connect();
        Task<DynamicMessage> held = BusyServer.CallAsync(holder, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");
        using RpcClient behind = server.Connect();
        using RpcServer gateway = RpcGateway.Create(behind, serverOptions: new RpcServerOptions().WithHttp())
            .AddEndpoint(front switch
            {
                "tcp" => "ncacn_ip_tcp:127.0.0.1[0]",
                "http" => "http://127.0.0.1:0/",
                _ => "grpc://127.0.0.1:0",
            })
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            gateway.Endpoints[0], SearchServer.Schema, new() { RetryCount = 10 });

        Task<DynamicMessage> call = BusyServer.CallAsync(client, "again");
        await BusyServer.UntilAsync(() => server.Counters.Refused == 1, "it is refused");
        server.Gate.Release();

        Assert.NotNull(await call.WaitAsync(Patience));
        await held.WaitAsync(Patience);
    }
}
