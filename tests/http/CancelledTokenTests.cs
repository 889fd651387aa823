using Google.Protobuf;

namespace ProtoRpc.Http.Tests;

/// <summary>A caller who cancels sees the same on every endpoint: OperationCanceledException when nothing was
/// begun, and the status Cancelled afterwards.</summary>
public sealed class CancelledTokenTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private readonly TaskCompletionSource _waiting = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly RpcServer _server;

    public CancelledTokenTests() => _server = RpcServer
        .Create(SearchServer.Schema, null, new RpcServerOptions().WithHttp())
        .Handle("Search", async (context, _) =>
        {
            _waiting.TrySetResult();
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
            return SearchServer.Found("never");
        })
        .AddEndpoint("http://127.0.0.1:0/")
        .AddEndpoint("grpc://127.0.0.1:0")
        .AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]")
        .StartListening();

    public static TheoryData<int, int> EndpointsAndRetries { get; } = new() {
        { 0, 0 }, { 1, 0 }, { 2, 0 }, { 0, 2 }, { 1, 2 }, { 2, 2 },
    };

    [Theory]
    [MemberData(nameof(EndpointsAndRetries))]
    public async Task A_token_that_is_already_cancelled_ends_every_operation_as_that(
        int endpoint, int retries)
    {
        RpcClientOptions options = new()
        {
            RetryCount = retries,
            Limits = new() { MultiPartThreshold = 2048 },
        };
        using RpcClient client = RpcClient.Connect(_server.Endpoints[endpoint], SearchServer.Schema, options);
        using CancellationTokenSource source = new();
        await source.CancelAsync();
        CancellationToken token = source.Token;
        RpcMethodInfo search = client.GetMethod("Search");
        IMessage request = Request("x");
        RpcCallOptions waiting = new() { WaitForReady = true };
        Dictionary<string, Func<Task>> operations = new()
        {
            ["Invoke"] = () => Run(() => client.Invoke(search, request, cancellationToken: token)),
            ["Invoke with options"] = () => Run(() => client.Invoke(search, request, waiting, token)),
            ["InvokeAsync"] = () => client.InvokeAsync(search, request, cancellationToken: token),
            ["InvokeAsync with options"] = () => client.InvokeAsync(search, request, waiting, token),
            ["Invoke in parts"] = () =>
                Run(() => client.Invoke(search, Request(new('x', 5000)), waiting, token)),
            ["Open"] = () => Run(() => client.Open(search, cancellationToken: token)),
            ["InvokeDuplexStreamAsync"] = () =>
                Enumerate(client.InvokeDuplexStreamAsync(search, One(request), null, token)),
            ["Upload"] = () => Run(() => client.Upload(
                search, new MemoryStream(request.ToByteArray()), cancellationToken: token)),
            ["Ping"] = () => Run(() => client.Ping(cancellationToken: token)),
            ["FetchSchema"] = () => Run(() => client.FetchSchema(null, token)),
            ["CompareSchema"] = () => Run(() => client.CompareSchema(cancellationToken: token)),
            ["Connect"] = () =>
                Run(() => RpcClient.Connect(client.Endpoint, SearchServer.Schema, options, token)),
            ["Connect balanced"] = () => Run(() => RpcClient.Connect(
                [client.Endpoint], RpcLoadBalancing.RoundRobin, SearchServer.Schema, options, token)),
        };

        foreach ((string name, Func<Task> operation) in operations)
        {
            Exception? error = await Record.ExceptionAsync(() => operation().WaitAsync(Patience));
            OperationCanceledException cancelled =
                Assert.IsType<OperationCanceledException>(error, exactMatch: false);
            Assert.True(token == cancelled.CancellationToken, $"{name} ends with another token.");
        }

        Assert.Equal(0, client.CallCount);
        Assert.Equal(0, _server.Counters.InFlight);
        Assert.False(_waiting.Task.IsCompleted);
    }

    [Fact]
    public void A_schema_is_not_asked_for_with_a_cancelled_token() =>
        Assert.Throws<OperationCanceledException>(() => RpcHttpSchema.Load(
            new Uri($"{_server.Endpoints[0].Uri}ProtoService.proto"), null,
            new CancellationToken(canceled: true)));

    [Fact]
    public async Task The_raw_layer_ends_the_same_way()
    {
        RpcEndpoint endpoint = _server.Endpoints[2];
        Guid id = SearchServer.Schema.Services[0].InterfaceId;
        using RpcRawClient client = RpcRawClient.Connect(endpoint, id);
        using CancellationTokenSource source = new();
        await source.CancelAsync();

        OperationCanceledException[] errors =
        [
            Assert.Throws<OperationCanceledException>(
                () => client.Execute([], cancellationToken: source.Token)),
            await Assert.ThrowsAsync<OperationCanceledException>(
                () => client.ExecuteAsync(default, cancellationToken: source.Token)),
            Assert.Throws<OperationCanceledException>(
                () => RpcRawClient.Connect(endpoint, id, cancellationToken: source.Token)),
        ];

        Assert.All(errors, error => Assert.Equal(source.Token, error.CancellationToken));
        Assert.Equal(0, client.CallCount);
    }

    [Theory]
    [InlineData(0, "blocking")]
    [InlineData(1, "blocking")]
    [InlineData(2, "blocking")]
    [InlineData(0, "async")]
    [InlineData(1, "async")]
    [InlineData(2, "async")]
    [InlineData(0, "stream")]
    [InlineData(1, "stream")]
    public async Task A_token_that_is_cancelled_during_the_call_fails_it_with_the_status_Cancelled(
        int endpoint, string way)
    {
        using RpcClient client = RpcClient.Connect(_server.Endpoints[endpoint], SearchServer.Schema);
        using CancellationTokenSource source = new();
        RpcMethodInfo search = client.GetMethod("Search");
        IMessage request = Request("x");
        Task call = way switch
        {
            "blocking" => Task.Run(() => client.Invoke(search, request, cancellationToken: source.Token)),
            "async" => client.InvokeAsync(search, request, cancellationToken: source.Token),
            _ => Enumerate(client.InvokeDuplexStreamAsync(search, One(request), null, source.Token)),
        };
        await _waiting.Task.WaitAsync(Patience);

        await source.CancelAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));
        Assert.Equal((RpcStatusCode.Cancelled, true), (error.Code, error.MayHaveExecuted));
        Assert.Equal(client.Endpoint, error.Endpoint);
        Assert.Equal(1, client.CallCount);
    }

    public void Dispose() => _server.Dispose();

    private static IMessage Request(string query) =>
        MessageFormats.Json.Read(SearchServer.RequestType, $$"""{"query":"{{query}}"}""");

    private static Task Run<T>(Func<T> operation) => Task.Run(operation);

    private static async Task Enumerate(IAsyncEnumerable<DynamicMessage> replies)
    {
        await foreach (DynamicMessage _ in replies)
        {
        }
    }

    private static async IAsyncEnumerable<IMessage> One(IMessage request)
    {
        await Task.CompletedTask;
        yield return request;
    }
}
