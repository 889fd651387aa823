using System.IO.Compression;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

/// <summary>Pooled memory of a reader that is closed while it reads.</summary>
public static class ReadLeaseTests
{
    [Fact]
    public static void Whoever_leaves_last_gives_the_memory_back()
    {
        ReadLease idle = new();
        Assert.True(idle.TryBegin());
        Assert.False(idle.TryBegin());
        Assert.False(idle.End());
        Assert.True(idle.Close());
        Assert.False(idle.Close());
        Assert.False(idle.TryBegin());

        ReadLease busy = new();
        Assert.True(busy.TryBegin());
        Assert.False(busy.Close());
        Assert.False(busy.Close());
        Assert.True(busy.End());
        Assert.False(busy.TryBegin());
    }

    [Fact]
    public static async Task A_decoder_that_another_thread_closes_ends_after_its_read()
    {
        using MemoryStream packed = new();
        using (GZipStream gzip = new(packed, CompressionLevel.Fastest, leaveOpen: true))
        {
            gzip.Write(new byte[100_000]);
        }

        SlowBody body = new(packed.ToArray());
        Decompression decoder = Decompression.TryOpen(body, "gzip")!;
        Task<int> reading = Task.Run(() => decoder.Read(new byte[10]));
        await body.Reading.Task.WaitAsync(TimeSpan.FromSeconds(30));

        decoder.Dispose();

        Assert.True(body.IsClosed);
        Assert.False(reading.IsCompleted);
        body.Go.SetResult();
        Assert.Equal(10, await reading.WaitAsync(TimeSpan.FromSeconds(30)));
        Assert.Throws<ObjectDisposedException>(() => decoder.Read(new byte[10]));
    }

    /// <summary>A body whose reader is inside it until the test lets it go.</summary>
    private sealed class SlowBody(byte[] bytes) : MemoryStream(bytes)
    {
        public TaskCompletionSource Reading { get; } =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public TaskCompletionSource Go { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public bool IsClosed { get; private set; }

        public override int Read(Span<byte> buffer)
        {
            Reading.TrySetResult();
            Go.Task.Wait();
            return base.Read(buffer);
        }

        // The bytes that have arrived are still there, as in a socket.
        protected override void Dispose(bool disposing) => IsClosed = true;
    }
}
