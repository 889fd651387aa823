namespace ProtoRpc.Protocols;

/// <summary>The bytes of a message in pooled memory, up to a limit. Free space can surround the message, so
/// that headers are sent in the same piece of memory.</summary>
/// <remarks>Not thread-safe.</remarks>
/// <param name="maxBytes">The largest message.</param>
/// <param name="what">The kind of message for the error: request or reply.</param>
/// <param name="prefix">The number of free octets before the message.</param>
/// <param name="suffix">The minimum number of free octets after the message.</param>
internal sealed class PooledMessageBytes(int maxBytes, string what, int prefix = 0, int suffix = 0)
    : IBufferWriter<byte>, IDisposable
{
    private const int InitialSize = 1024;
    private const int RetainedBytes = 64 * 1024;
    private const int Slack = 4 * 1024;
    private const int MinimumRoom = 256;

    private readonly int _prefix = prefix;
    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
    private int _end = prefix;

    /// <summary>The length of the message without the prefix.</summary>
    public int Length => _end - _prefix;

    /// <summary>Whether more was written than the limit allows.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>The message alone; valid until the next write, reset or dispose.</summary>
    public ReadOnlyMemory<byte> Message => _bytes.AsMemory(_prefix, Length);

    /// <summary>The memory with the message and the free space around it.</summary>
    public Memory<byte> Whole => _bytes;

    /// <summary>Releases the message, and its buffer if it is large.</summary>
    public void Reset()
    {
        _end = _prefix;
        Overflowed = false;
        if (_bytes.Length > RetainedBytes)
        {
            byte[] large = _bytes;
            _bytes = [];
            ArrayPool<byte>.Shared.Return(large);
            _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
        }
    }

    /// <inheritdoc/>
    /// <exception cref="RpcException">ResourceExhausted: the message is over the limit.</exception>
    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)count, (uint)(_bytes.Length - _end));
        if (count > maxBytes - Length)
        {
            throw TooLarge((long)Length + count);
        }

        _end += count;
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Reserve(sizeHint);
        return _bytes.AsMemory(_end, _bytes.Length - _end - suffix);
    }

    public Span<byte> GetSpan(int sizeHint = 0)
    {
        Reserve(sizeHint);
        return _bytes.AsSpan(_end, _bytes.Length - _end - suffix);
    }

    public void Dispose()
    {
        byte[] bytes = _bytes;
        _bytes = [];
        _end = _prefix;
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    private void Reserve(int sizeHint)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);

        // Writers may request more memory than they use, so only Advance enforces the exact limit.
        if (sizeHint > (long)maxBytes - Length + Slack)
        {
            throw TooLarge((long)Length + sizeHint);
        }

        int needed = Math.Max(sizeHint, MinimumRoom) + suffix;
        if (_bytes.Length - _end < needed)
        {
            byte[] larger = ArrayPool<byte>.Shared.Rent(
                (int)Math.Max(_end + (long)needed, Math.Min(_bytes.Length * 2L, Array.MaxLength)));
            _bytes.AsSpan(0, _end).CopyTo(larger);
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = larger;
        }
    }

    private RpcException TooLarge(long size)
    {
        Overflowed = true;
        return new RpcException(
            RpcStatusCode.ResourceExhausted, RpcErrorIds.MessageTooLarge,
            $"The {what} has at least {size:N0} bytes; the limit is {maxBytes:N0}. Send less per call, "
            + $"or raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)} on both sides.");
    }
}
