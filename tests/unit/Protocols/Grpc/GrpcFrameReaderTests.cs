using ProtoRpc.Client.Grpc;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Tests.Protocols.Grpc;

public static class GrpcFrameReaderTests
{
    private const int Limit = 64 * 1024 * 1024;

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(1000)]
    [InlineData(int.MaxValue)]
    public static async Task Frames_of_all_sizes_come_as_they_were_sent_however_they_are_cut(int step)
    {
        int[] sizes = step == 1
            ? [0, 1, 5, 300, 20_000, 0]
            : [0, 1, 5, 16_379, 16_380, 300_000, 2_500_000, 0, 40_000, 7];
        GrpcFrameReader reader = new(new CutStream(Frames(sizes), step), Limit);

        foreach (int size in sizes)
        {
            Assert.True(await reader.ReadAsync(CancellationToken.None));
            GrpcFrame frame = reader.Current;
            Assert.Equal(size % 2 == 1, frame.IsCompressed);
            Assert.True(frame.Body.IsSingleSegment);
            Assert.True(
                frame.Body.FirstSpan.SequenceEqual(Body(size)),
                $"The message of {size} bytes is another one.");
        }

        Assert.False(await reader.ReadAsync(CancellationToken.None));
        Assert.Equal(0, reader.Left);
    }

    [Fact]
    public static async Task What_is_left_of_a_frame_that_is_cut_off_is_counted()
    {
        byte[] frames = Frames(10, 20);
        GrpcFrameReader reader = new(new CutStream(frames[..^3], int.MaxValue), Limit);

        Assert.True(await reader.ReadAsync(CancellationToken.None));
        Assert.False(await reader.ReadAsync(CancellationToken.None));

        Assert.Equal(GrpcFraming.PrefixLength + 17, reader.Left);
    }

    [Fact]
    public static async Task Memory_grows_with_what_comes_and_not_with_what_is_announced()
    {
        byte[] prefix = new byte[GrpcFraming.PrefixLength];
        GrpcFraming.WritePrefix(prefix, flags: 0, 1024 * 1024 * 1024);
        CutStream stream = new([.. prefix, .. new byte[100_000]], int.MaxValue);
        GrpcFrameReader reader = new(stream, int.MaxValue);

        Assert.False(await reader.ReadAsync(CancellationToken.None));

        Assert.InRange(stream.LargestRead, 1, 2 * 1024 * 1024);
    }

    private static byte[] Frames(params int[] sizes)
    {
        MemoryStream frames = new();
        Span<byte> prefix = stackalloc byte[GrpcFraming.PrefixLength];
        foreach (int size in sizes)
        {
            GrpcFraming.WritePrefix(prefix, (byte)(size % 2), size);
            frames.Write(prefix);
            frames.Write(Body(size));
        }

        return frames.ToArray();
    }

    private static byte[] Body(int size)
    {
        byte[] body = new byte[size];
        new Random(size).NextBytes(body);
        return body;
    }

    // Gives at most so many bytes at once.
    private sealed class CutStream(byte[] bytes, int step) : MemoryStream(bytes)
    {
        public int LargestRead { get; private set; }

        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            LargestRead = Math.Max(LargestRead, buffer.Length);
            return base.ReadAsync(buffer[..Math.Min(step, buffer.Length)], cancellationToken);
        }
    }
}
