using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Protocols.Grpc.Proto;

namespace ProtoRpc.Tests.Client;

public static class RepeatedStreamTests
{
    [Fact]
    public static async Task A_try_that_begins_when_the_call_was_disposed_of_sends_nothing_and_is_ended()
    {
        FakeStream first = new(new RpcException(RpcStatusCode.Unavailable, "not here"));
        FakeStream second = new(null);
        TaskCompletionSource<IRpcStream> next = new();
        RepeatedStream stream = new(first, async _ => await next.Task);
        await stream.SendAsync(new HealthCheckRequest(), compress: false);
        Task<bool> reading = stream.ReadAsync().AsTask();

        await stream.DisposeAsync();
        next.SetResult(second);

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => reading);
        Assert.Equal("not here", error.Message);
        Assert.Equal((1, true), (first.Sent, first.IsDisposed));
        Assert.Equal((0, true), (second.Sent, second.IsDisposed));
    }

    [Fact]
    public static async Task The_next_try_sends_what_was_sent_and_ends_what_was_ended()
    {
        FakeStream first = new(new RpcException(RpcStatusCode.Unavailable, "not here"));
        FakeStream second = new(null);
        RepeatedStream stream = new(first, _ => ValueTask.FromResult<IRpcStream>(second));
        await stream.SendAsync(new HealthCheckRequest(), compress: false);
        await stream.CompleteAsync();

        Assert.False(await stream.ReadAsync());

        Assert.True(first.IsDisposed);
        Assert.Equal((1, true, false), (second.Sent, second.IsComplete, second.IsDisposed));
    }

    private sealed class FakeStream(RpcException? failure) : IRpcStream
    {
        public int Sent { get; private set; }

        public bool IsComplete { get; private set; }

        public bool IsDisposed { get; private set; }

        public ReplyBody Current => default;

        public ValueTask<bool> SendAsync(IMessage message, bool compress)
        {
            Sent++;
            return ValueTask.FromResult(true);
        }

        public ValueTask CompleteAsync()
        {
            IsComplete = true;
            return ValueTask.CompletedTask;
        }

        public ValueTask<bool> ReadAsync() =>
            failure is null ? ValueTask.FromResult(false) : ValueTask.FromException<bool>(failure);

        public ValueTask DisposeAsync()
        {
            IsDisposed = true;
            return ValueTask.CompletedTask;
        }
    }
}
