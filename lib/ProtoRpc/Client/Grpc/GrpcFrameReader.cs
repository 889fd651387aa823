using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Client.Grpc;

/// <summary>Reads frames from the body of a reply, each into contiguous memory. Not thread-safe.</summary>
/// <param name="body">The body.</param>
/// <param name="maxBytes">The largest message.</param>
/// <param name="rules">The rules of the protocol; null for gRPC.</param>
internal sealed class GrpcFrameReader(Stream body, int maxBytes, FrameRules? rules = null)
{
    private const int FirstSize = 16 * 1024;

    // Servers choose the length. Above this size, memory only grows as bytes arrive.
    private const int TrustedSize = 1024 * 1024;

    private readonly FrameRules _rules = rules ?? FrameRules.Grpc;
    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(FirstSize);
    private int _start;
    private int _end;

    /// <summary>The number of bytes after the last complete frame.</summary>
    public int Left => _end - _start;

    /// <summary>The last frame; valid until the next read.</summary>
    public GrpcFrame Current { get; private set; }

    /// <summary>Waits for the next frame.</summary>
    /// <returns>False at the end of the body.</returns>
    /// <exception cref="RpcException">ResourceExhausted: the message is larger than the limit. Internal: the
    /// bytes are not a frame.</exception>
    public async ValueTask<bool> ReadAsync(CancellationToken cancellation)
    {
        while (true)
        {
            long wanted = GrpcFraming.PrefixLength;
            if (Left >= GrpcFraming.PrefixLength)
            {
                int length = GrpcFraming.ReadPrefix(
                    _bytes.AsSpan(_start), maxBytes, _rules, out byte flags);
                wanted += length;
                if (Left >= wanted)
                {
                    int start = _start + GrpcFraming.PrefixLength;
                    Current = new GrpcFrame(flags, new ReadOnlySequence<byte>(_bytes, start, length));
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

    /// <summary>Returns the memory to the pool. Do not call it during a read, which would then write to
    /// memory of others.</summary>
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
            // Doubles the received size, or takes the full length if it is small.
            byte[] larger = ArrayPool<byte>.Shared.Rent(
                (int)Math.Min(Math.Min(wanted, Array.MaxLength), Math.Max(TrustedSize, 2L * left)));
            _bytes.CopyTo(larger, 0);
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = larger;
        }
    }
}
