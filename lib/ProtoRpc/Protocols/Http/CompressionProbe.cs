using System.Buffers;
using System.IO.Compression;

namespace ProtoRpc.Protocols.Http;

/// <summary>Finds out from its first block whether a body is worth compressing: random, encrypted and
/// compressed bytes are not.</summary>
internal static class CompressionProbe
{
    private const int BlockSize = 4 * 1024;

    // Saving less than an eighth is not worth the time of both sides.
    private const int SavedShare = 8;

    // The level that CompressionLevel.Fastest stands for, and a window of the size of the block.
    private const int FastestQuality = 1;
    private const int WindowBits = 12;

    /// <summary>Whether the first block shrinks.</summary>
    public static bool Shrinks(ReadOnlySpan<byte> body)
    {
        ReadOnlySpan<byte> block = body[..Math.Min(body.Length, BlockSize)];
        int enough = block.Length - (block.Length / SavedShare);
        byte[] target = ArrayPool<byte>.Shared.Rent(BlockSize);
        bool shrinks = BrotliEncoder.TryCompress(
            block, target.AsSpan(0, enough), out _, FastestQuality, WindowBits);
        ArrayPool<byte>.Shared.Return(target);
        return shrinks;
    }
}
