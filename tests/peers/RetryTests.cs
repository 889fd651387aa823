using ProtoRpc.Http.Tests.Streams;

namespace ProtoRpc.Peers;

/// <summary>Our client repeats calls to Grpc.AspNetCore as its policy and the server say.</summary>
[PeerCall("Grpc.AspNetCore", "gRPC", PeerSide.Server, PeerCalls.Unary | PeerCalls.Retries)]
public sealed class RetryTests : IAsyncLifetime
{
    private PeerApplication _server = null!;

    public async ValueTask InitializeAsync() => _server = await PeerApplication.StartWordsAsync();

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    [Fact]
    public async Task Pushback_of_the_server_says_when_and_the_server_knows_the_attempt()
    {
        // Without the pushback, the second attempt would come after ten minutes.
        await using RpcClient client = Connect(new() { InitialPause = TimeSpan.FromMinutes(10) });
        RpcReplyInfo info = new();

        Task<string> reply = SayAsync(client, "later 2 1", info);

        Assert.Equal("2", await Patience.WaitAsync(reply));
        Assert.Equal(2, info.Retries);
    }

    [Theory]
    [InlineData("-1")]
    [InlineData("soon")]
    [InlineData("2147483647")]
    public async Task Pushback_that_forbids_retries_or_is_too_long_ends_the_call(string pushback)
    {
        await using RpcClient client = Connect(new());

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Patience.WaitAsync(SayAsync(client, $"later 1 {pushback}", new())));

        Assert.Equal(
            (RpcStatusCode.Unavailable, 1, true), (error.Code, error.Attempts, error.MayHaveExecuted));
    }

    [Fact]
    public async Task A_status_that_is_not_named_is_not_repeated()
    {
        await using RpcClient client = Connect(new() { StatusCodes = [RpcStatusCode.Aborted] });

        RpcException error = await Assert.ThrowsAsync<RpcException>(
            () => Patience.WaitAsync(SayAsync(client, "later 1 1", new())));

        Assert.Equal((RpcStatusCode.Unavailable, 1), (error.Code, error.Attempts));
    }

    private RpcClient Connect(RpcRetryPolicy policy) => _server.Connect(new()
    {
        Retry = policy.StatusCodes.Count > 0
            ? policy
            : policy with { StatusCodes = [RpcStatusCode.Unavailable] },
    });

    private static async Task<string> SayAsync(RpcClient client, string text, RpcReplyInfo info) =>
        (await client.InvokeAsync<Text>(
            "Say", new { text }, new() { ReplyInfo = info, Timeout = TimeSpan.FromMinutes(1) })).Text_;
}
