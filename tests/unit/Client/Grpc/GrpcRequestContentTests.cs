using ProtoRpc.Client.Grpc;

namespace ProtoRpc.Tests.Client.Grpc;

/// <summary>The body of a call that streams its requests.</summary>
public static class GrpcRequestContentTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public static async Task Messages_are_written_after_the_headers_and_not_beside_them()
    {
        using GrpcRequestContent content = new(CancellationToken.None);
        SlowStream stream = new();

        Task sent = content.CopyToAsync(stream);

        Assert.True(content.IsSent);
        Assert.False(content.Opened.IsCompleted);
        stream.Flushed.SetResult();
        Assert.Same(stream, await content.Opened.WaitAsync(Patience));
        content.Complete();
        await sent.WaitAsync(Patience);
    }

    [Fact]
    public static async Task A_request_whose_headers_were_not_sent_can_be_sent_again()
    {
        using GrpcRequestContent content = new(CancellationToken.None);
        SlowStream broken = new();
        Task first = content.CopyToAsync(broken);
        broken.Flushed.SetException(new IOException("closed"));
        await Assert.ThrowsAnyAsync<Exception>(() => first.WaitAsync(Patience));

        SlowStream second = new();
        second.Flushed.SetResult();
        Task again = content.CopyToAsync(second);

        Assert.Same(second, await content.Opened.WaitAsync(Patience));
        await Assert.ThrowsAsync<RpcException>(
            () => content.CopyToAsync(new SlowStream()).WaitAsync(Patience));
        content.Complete();
        await again.WaitAsync(Patience);
    }

    /// <summary>A stream that flushes when the test says so.</summary>
    private sealed class SlowStream : MemoryStream
    {
        public TaskCompletionSource Flushed { get; } =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public override Task FlushAsync(CancellationToken cancellationToken) => Flushed.Task;
    }
}
