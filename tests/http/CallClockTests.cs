namespace ProtoRpc.Http.Tests;

/// <summary>Calls that their deadline or their caller ends: the same status, text and answer to whether they
/// may have run, on every transport.</summary>
public static class CallClockTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public static async Task A_deadline_ends_calls_in_the_same_way_everywhere(bool isAbsolute)
    {
        using Waiting server = new();

        List<RpcException> errors = await server.FailAsync(
            () => isAbsolute
                ? new RpcCallOptions { Deadline = DateTimeOffset.UtcNow.AddSeconds(0.5), Timeout = Patience }
                : new RpcCallOptions { Timeout = TimeSpan.FromSeconds(0.5) },
            isCancelled: false);

        Assert.All(errors, error => Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code));
        Assert.All(errors, error => Assert.True(error.MayHaveExecuted));
        Assert.All(errors, error => Assert.Contains(
            "; the call may have run there.", error.Message, StringComparison.Ordinal));
        if (!isAbsolute)
        {
            Assert.Single(errors.Select(Waiting.TextOf).Distinct());
        }
    }

    [Fact]
    public static async Task A_caller_ends_calls_in_the_same_way_everywhere()
    {
        using Waiting server = new();

        List<RpcException> errors = await server.FailAsync(() => new RpcCallOptions(), isCancelled: true);

        Assert.All(errors, error => Assert.Equal(RpcStatusCode.Cancelled, error.Code));
        Assert.All(errors, error => Assert.True(error.MayHaveExecuted));
        Assert.Single(errors.Select(Waiting.TextOf).Distinct());
    }

    [Fact]
    public static async Task A_timeout_of_nothing_sends_nothing()
    {
        using Waiting server = new();

        List<RpcException> errors = await server.FailAsync(
            () => new RpcCallOptions { Timeout = TimeSpan.Zero }, isCancelled: false);

        Assert.All(errors, error => Assert.Equal(RpcStatusCode.DeadlineExceeded, error.Code));
        Assert.All(errors, error => Assert.False(error.MayHaveExecuted));
        Assert.Single(errors.Select(Waiting.TextOf).Distinct());
        Assert.Equal(0, server.Calls);
    }

    [Theory]
    [InlineData("grpc://127.0.0.1:0", 30)]
    [InlineData("grpc://127.0.0.1:0", 60)]
    [InlineData("http://127.0.0.1:0/", 30)]
    [InlineData("http://127.0.0.1:0/", 60)]
    public static void Limits_longer_than_timers_take_are_endless(string endpoint, int days)
    {
        using WordsServer server = new(endpoint);
        TimeSpan time = TimeSpan.FromDays(days);
        using RpcClient client = server.Connect(
            new RpcClientOptions { Limits = new() { ConnectTimeout = time, CallTimeout = time } });

        Assert.Equal("x", WordsServer.TextOf(client.Invoke(client.GetMethod("Say"), WordsServer.Text("x"))));
    }

    private sealed class Waiting : IDisposable
    {
        private readonly RpcServer _server;
        private readonly SemaphoreSlim _entered = new(0);
        private readonly TaskCompletionSource _end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private int _calls;

        public Waiting() => _server = RpcServer
            .Create(SearchServer.Schema, null, new RpcServerOptions().WithHttp(null))
            .Handle("Search", async (_, _) =>
            {
                Interlocked.Increment(ref _calls);
                _entered.Release();

                // A server that saw the deadline first would answer with words of its own.
                await _end.Task;
                return SearchServer.Found("never");
            })
            .AddEndpoint("http://127.0.0.1:0/")
            .AddEndpoint("grpc://127.0.0.1:0")
            .AddEndpoint("tcp://127.0.0.1:0")
            .AddEndpoint($"local://clock{Guid.NewGuid():N}")
            .AddEndpoint($"inproc://clock{Guid.NewGuid():N}")
            .StartListening();

        public int Calls => Volatile.Read(ref _calls);

        public static string TextOf(RpcException error) =>
            error.Message.Replace(error.Endpoint!.ToString(), "ENDPOINT", StringComparison.Ordinal);

        public async Task<List<RpcException>> FailAsync(Func<RpcCallOptions> options, bool isCancelled)
        {
            List<RpcException> errors = [];
            foreach (RpcEndpoint endpoint in _server.Endpoints)
            {
                using RpcClient client = RpcClient.Connect(endpoint.Uri, SearchServer.Schema);
                foreach (bool isBlocking in new[] { true, false })
                {
                    using CancellationTokenSource source = new();
                    Task call = isBlocking
                        ? Task.Run(() => client.Invoke(Method(client), Request, options(), source.Token))
                        : client.InvokeAsync(Method(client), Request, options(), source.Token);
                    if (isCancelled)
                    {
                        Assert.True(await _entered.WaitAsync(Patience));
                        await source.CancelAsync();
                    }

                    errors.Add(await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience)));
                }
            }

            return errors;
        }

        public void Dispose()
        {
            _end.SetResult();
            _server.Dispose();
            _entered.Dispose();
        }

        private static DynamicMessage Request { get; } =
            MessageFormats.Json.Read(SearchServer.RequestType, """{"query":"x"}""");

        private static RpcMethodInfo Method(RpcClient client) => client.GetMethod("Search");
    }
}
