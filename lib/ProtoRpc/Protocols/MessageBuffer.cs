using System.Buffers;
using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Protocols;

/// <summary>A message that is written after room for its headers,
/// so that it is sent from one piece of memory.</summary>
/// <remarks>Not thread-safe.</remarks>
internal sealed class MessageBuffer : IBufferWriter<byte>, IDisposable
{
    private const int InitialSize = 4 * 1024;
    private const int KeptSize = 64 * 1024;
    private const int Slack = 4 * 1024;
    private const int MinimumRoom = 256;

    private readonly int _prefix;
    private readonly int _maxBytes;
    private readonly string _what;
    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
    private int _end;

    /// <param name="prefix">Octets before the message.</param>
    /// <param name="maxBytes">The largest message.</param>
    /// <param name="what">What the message is, for the error: request or reply.</param>
    public MessageBuffer(int prefix, int maxBytes, string what)
    {
        _prefix = prefix;
        _maxBytes = maxBytes;
        _what = what;
        _end = prefix;
    }

    /// <summary>Octets of the message without prefix.</summary>
    public int Length => _end - _prefix;

    /// <summary>Whether more was written than the limit allows.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>Prefix, message, and at least <see cref="ExecStub.ResponseSuffix"/> octets more.</summary>
    public Memory<byte> Whole => _bytes;

    /// <summary>Forgets the message, and a large buffer with it.</summary>
    public void Reset()
    {
        _end = _prefix;
        Overflowed = false;
        if (_bytes.Length > KeptSize)
        {
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
        }
    }

    /// <inheritdoc/>
    /// <exception cref="RpcException">ResourceExhausted when the message
    /// gets larger than the limit.</exception>
    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)count, (uint)(_bytes.Length - _end));
        if (count > _maxBytes - Length)
        {
            throw TooLarge((long)Length + count);
        }

        _end += count;
    }

    /// <inheritdoc/>
    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Reserve(sizeHint);
        return _bytes.AsMemory(_end, _bytes.Length - _end - ExecStub.ResponseSuffix);
    }

    /// <inheritdoc/>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        Reserve(sizeHint);
        return _bytes.AsSpan(_end, _bytes.Length - _end - ExecStub.ResponseSuffix);
    }

    /// <inheritdoc/>
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

        // Writers ask for a little more than they use, so the limit itself is kept by Advance.
        if (sizeHint > (long)_maxBytes - Length + Slack)
        {
            throw TooLarge((long)Length + sizeHint);
        }

        int needed = Math.Max(sizeHint, MinimumRoom) + ExecStub.ResponseSuffix;
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
            RpcStatusCode.ResourceExhausted,
            $"The {_what} has at least {size:N0} bytes; the limit is {_maxBytes:N0}. Send less at once, "
            + $"or raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxMessageBytes)} on both sides.")
        {
            ErrorId = RpcErrorIds.MessageTooLarge,
        };
    }
}
