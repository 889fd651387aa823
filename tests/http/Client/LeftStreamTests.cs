using Google.Protobuf;

namespace ProtoRpc.Http.Tests.Client;

/// <summary>Streaming calls whose source of requests ignores its cancellation.</summary>
public static class LeftStreamTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Theory]
    [InlineData(0, "Chat", "a")]
    [InlineData(1, "Chat", "a")]
    [InlineData(0, "Split", "a wait")]
    [InlineData(1, "Split", "a wait")]
    [InlineData(2, "Split", "a wait")]
    public static async Task A_caller_that_leaves_does_not_wait_for_the_source(
        int endpoint, string method, string first)
    {
        using WordsServer server = Serve();
        using RpcClient client = Connect(server, endpoint);
        StuckSource source = new(first);
        IAsyncEnumerator<DynamicMessage> replies =
            client.InvokeDuplexStreamAsync(method, source.ReadAsync()).GetAsyncEnumerator();
        Assert.True(await replies.MoveNextAsync().AsTask().WaitAsync(Patience));

        await replies.DisposeAsync().AsTask().WaitAsync(Patience);

        server.Server.RequireCounts(counters => counters.InFlight == 0);
        Assert.False(source.Ended.IsCompleted);
        source.Release.SetResult();
        await source.Ended.WaitAsync(Patience);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public static async Task A_call_that_ends_by_its_deadline_does_not_wait_for_the_source(int endpoint)
    {
        using WordsServer server = Serve();
        using RpcClient client = Connect(server, endpoint);
        StuckSource source = new("a");
        Task<int> replies = client.InvokeDuplexStreamAsync(
            "Chat", source.ReadAsync(), new() { Timeout = TimeSpan.FromSeconds(2) }).CountAsync().AsTask();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => replies.WaitAsync(Patience));

        Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code);
        Assert.False(source.Ended.IsCompleted);
        source.Release.SetException(new InvalidOperationException("It comes too late for the caller."));
        await source.Ended.WaitAsync(Patience);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public static async Task A_source_that_heeds_its_cancellation_has_ended_when_the_call_has(int endpoint)
    {
        using WordsServer server = Serve();
        using RpcClient client = Connect(server, endpoint);
        HeedingSource source = new();

        await foreach (DynamicMessage reply in client.InvokeDuplexStreamAsync("Chat", source))
        {
            Assert.Equal("a!", WordsServer.TextOf(reply));
            break;
        }

        Assert.True(source.HasEnded);
    }

    private static WordsServer Serve() => new(
        "grpc://127.0.0.1:0", null, null, $"inproc://{Guid.NewGuid():N}", "http://127.0.0.1:0/");

    private static RpcClient Connect(WordsServer server, int endpoint) => RpcClient.Connect(
        server.Server.Endpoints[endpoint], WordsServer.Schema, new() { Service = "streams.Words" });

    private sealed class StuckSource(string first)
    {
        private readonly TaskCompletionSource _ended =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public TaskCompletionSource Release { get; } =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        /// <summary>Ends when the enumerator was disposed.</summary>
        public Task Ended => _ended.Task;

        public async IAsyncEnumerable<IMessage> ReadAsync()
        {
            try
            {
                yield return WordsServer.Text(first);
                await Release.Task;
                yield return WordsServer.Text("late");
            }
            finally
            {
                _ended.SetResult();
            }
        }
    }

    private sealed class HeedingSource : IAsyncEnumerable<IMessage>
    {
        public bool HasEnded { get; private set; }

        public async IAsyncEnumerator<IMessage> GetAsyncEnumerator(CancellationToken cancellationToken)
        {
            try
            {
                yield return WordsServer.Text("a");
                await Task.Delay(Timeout.Infinite, cancellationToken);
            }
            finally
            {
                HasEnded = true;
            }
        }
    }
}
