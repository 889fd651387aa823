using System.Buffers;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>Reads frames from the body of a reply, each into one piece of memory. Not thread-safe.</summary>
internal sealed class GrpcFrameReader(Stream body, int maxBytes)
{
    private const int FirstSize = 16 * 1024;

    // A length is the server's word: above this, memory grows only as bytes come.
    private const int TrustedSize = 1024 * 1024;

    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(FirstSize);
    private int _start;
    private int _end;

    /// <summary>How many bytes came after the last whole frame.</summary>
    public int Left => _end - _start;

    /// <summary>The frame that was read, until the next one is.</summary>
    public GrpcFrame Current { get; private set; }

    /// <summary>Waits for the next frame.</summary>
    /// <returns>False at the end of the body.</returns>
    /// <exception cref="RpcException">ResourceExhausted for a message over the limit;
    /// Internal for what is no frame.</exception>
    public async ValueTask<bool> ReadAsync(CancellationToken cancellation)
    {
        while (true)
        {
            long wanted = GrpcFraming.PrefixLength;
            if (Left >= GrpcFraming.PrefixLength)
            {
                int length = GrpcFraming.ReadPrefix(_bytes.AsSpan(_start), maxBytes, out bool isCompressed);
                wanted += length;
                if (Left >= wanted)
                {
                    int start = _start + GrpcFraming.PrefixLength;
                    Current = new GrpcFrame(
                        isCompressed, new ReadOnlySequence<byte>(_bytes, start, length));
                    _start = start + length;
                    return true;
                }
            }

            MakeRoom(wanted);
            int count = await body.ReadAsync(_bytes.AsMemory(_end), cancellation).ConfigureAwait(false);
            if (count == 0)
            {
                return false;
            }

            _end += count;
        }
    }

    /// <summary>Gives the memory back. Not while a read runs,
    /// which would write to what is somebody else's.</summary>
    public void Release()
    {
        byte[] bytes = _bytes;
        _bytes = [];
        _start = _end = 0;
        Current = default;
        ArrayPool<byte>.Shared.Return(bytes);
    }

    private void MakeRoom(long wanted)
    {
        int left = Left;
        if (_start > 0)
        {
            _bytes.AsSpan(_start, left).CopyTo(_bytes);
            _start = 0;
            _end = left;
        }

        if (left == _bytes.Length)
        {
            // Twice what has come, or all of it where that is little.
            byte[] larger = ArrayPool<byte>.Shared.Rent(
                (int)Math.Min(Math.Min(wanted, Array.MaxLength), Math.Max(TrustedSize, 2L * left)));
            _bytes.CopyTo(larger, 0);
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = larger;
        }
    }
}
