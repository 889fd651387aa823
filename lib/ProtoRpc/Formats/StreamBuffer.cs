using System.Buffers;

namespace ProtoRpc.Formats;

/// <summary>Passes what is written on to a stream, a block at a time.</summary>
internal sealed class StreamBuffer(Stream stream) : IBufferWriter<byte>, IDisposable
{
    private const int BlockSize = 16 * 1024;

    private byte[] _block = ArrayPool<byte>.Shared.Rent(BlockSize);
    private int _count;

    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _block.Length - _count);
        _count += count;
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        int wanted = Math.Max(sizeHint, 1);
        if (_block.Length - _count < wanted)
        {
            Flush();
            if (_block.Length < wanted)
            {
                ArrayPool<byte>.Shared.Return(_block);
                _block = ArrayPool<byte>.Shared.Rent(wanted);
            }
        }

        return _block.AsMemory(_count);
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    /// <summary>Writes what the stream does not have yet.</summary>
    public void Flush()
    {
        stream.Write(_block, 0, _count);
        _count = 0;
    }

    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(_block);
        _block = [];
    }
}
