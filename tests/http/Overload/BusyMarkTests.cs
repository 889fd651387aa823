using System.Net;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>A server that is too busy says that the call did not run, and clients with retries call
/// again.</summary>
public static class BusyMarkTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);
    private static readonly RpcLimits One = new() { MaxConcurrentCalls = 1, MaxQueuedCalls = 0 };

    public static TheoryData<string> Faces => [.. BusyServer.AllFaces];

    [Theory]
    [MemberData(nameof(Faces))]
    public static async Task A_call_to_a_busy_server_did_not_run(string face)
    {
        using BusyServer server = new(face, One);
        using RpcClient client = server.Connect();
        _ = BusyServer.CallAsync(client, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");

        RpcException refusal = await Assert.ThrowsAsync<RpcException>(
            () => BusyServer.CallAsync(client, "refused"));

        Assert.Equal(RpcStatusCode.ResourceExhausted, refusal.Code);
        Assert.False(refusal.MayHaveExecuted);
    }

    [Theory]
    [MemberData(nameof(Faces))]
    public static async Task A_client_with_retries_calls_again_until_the_server_has_room(string face)
    {
        using BusyServer server = new(face, One);
        using RpcClient holder = server.Connect();
        using RpcClient client = RpcClient.Connect(
            server.Endpoint, SearchServer.Schema, new() { RetryCount = 10 });
        Task<DynamicMessage> held = BusyServer.CallAsync(holder, "hold");
        await BusyServer.UntilAsync(() => server.Begun.Count == 1, "one runs");
        RpcResponseInfo info = new();

        Task<DynamicMessage> call = client.InvokeAsync(
            "Search", new { query = "again" }, new() { Response = info });
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
    public static async Task A_retry_that_would_come_after_the_deadline_is_not_made(string face)
    {
        using BusyServer server = new(face, One);
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
