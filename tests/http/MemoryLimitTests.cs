namespace ProtoRpc.Http.Tests;

/// <summary>The bound of all large requests together, on each kind of endpoint.</summary>
public static class MemoryLimitTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    public static TheoryData<string> Endpoints =>
        ["http://127.0.0.1:0/", "grpc://127.0.0.1:0", "ncacn_ip_tcp:127.0.0.1[0]"];

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task Requests_for_which_there_is_no_room_are_refused_as_busy(string endpoint)
    {
        using Gate gate = new(endpoint);
        using RpcClient client = gate.Connect();

        // Decoded, it has two bytes for each character.
        Task<DynamicMessage> first = gate.CallAsync(client, "wait", 300_000);
        await gate.Waiting.Task.WaitAsync(Patience);
        RpcException error =
            await Assert.ThrowsAsync<RpcException>(() => gate.CallAsync(client, "large", 300_000));
        Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);

        // Small ones have room, and the others again once the first one is over.
        Assert.NotNull(await gate.CallAsync(client, "small", 10_000).WaitAsync(Patience));
        gate.Go.SetResult();
        await first.WaitAsync(Patience);
        Assert.NotNull(await gate.CallAsync(client, "large", 300_000).WaitAsync(Patience));
        Assert.Equal(["large", "small", "wait"], gate.Seen.Order());
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task A_request_that_comes_alone_has_room_and_leaves_none_behind(string endpoint)
    {
        using Gate gate = new(endpoint);
        using RpcClient client = gate.Connect();

        // More than all of them may have, one after the other, also where calls are given up.
        for (int i = 0; i < 5; i++)
        {
            Assert.NotNull(await RetryAsync(() => gate.CallAsync(client, "large", 3_000_000)));
            using CancellationTokenSource soon = new();
            Task<DynamicMessage> given = gate.CallAsync(client, "large", 3_000_000, soon.Token);
            await soon.CancelAsync();

            // It may have ended before.
            Assert.IsNotType<TimeoutException>(
                await Record.ExceptionAsync(() => given.WaitAsync(Patience)));
        }

        Assert.NotNull(await RetryAsync(() => gate.CallAsync(client, "large", 3_000_000)));
    }

    // A call that was given up may still be received.
    private static async Task<DynamicMessage> RetryAsync(Func<Task<DynamicMessage>> call)
    {
        long end = Environment.TickCount64 + (long)Patience.TotalMilliseconds;
        while (true)
        {
            try
            {
                return await call().WaitAsync(Patience);
            }
            catch (RpcException e)
                when (e.Code == RpcStatusCode.ResourceExhausted && Environment.TickCount64 < end)
            {
                await Task.Yield();
            }
        }
    }

    private sealed class Gate : IDisposable
    {
        private readonly RpcServer _server;

        public Gate(string endpoint)
        {
            RpcServerOptions options = new() { Limits = new RpcLimits { MaxMemoryBytes = 1024 * 1024 } };
            _server = RpcServer.Create(SearchServer.Schema, null, options.WithHttp())
                .Handle("Search", async (context, request) =>
                {
                    string name = SearchServer.TextOf(request).TrimEnd('x');
                    lock (Seen)
                    {
                        Seen.Add(name);
                    }

                    if (name == "wait")
                    {
                        Waiting.SetResult();
                        await Go.Task.WaitAsync(context.CancellationToken);
                    }

                    return SearchServer.Found(name);
                })
                .AddEndpoint(endpoint)
                .StartListening();
        }

        public TaskCompletionSource Waiting { get; } =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public TaskCompletionSource Go { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public SortedSet<string> Seen { get; } = [];

        public RpcClient Connect() => RpcClient.Connect(
            _server.Endpoints[0], SearchServer.Schema, new RpcClientOptions { RetryCount = 0 });

        public async Task<DynamicMessage> CallAsync(
            RpcClient client, string name, int bytes, CancellationToken cancellation = default) =>
            await client.InvokeAsync(
                "Search", new { query = name.PadRight(bytes, 'x') }, cancellationToken: cancellation);

        public void Dispose() => _server.Dispose();
    }
}
