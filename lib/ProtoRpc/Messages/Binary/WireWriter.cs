using System.Buffers;
using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;

namespace ProtoRpc.Messages.Binary;

/// <summary>Writes protobuf's wire format from its end to its start.</summary>
/// <remarks>Backwards, the length of a nested message is known when it is to be written: one pass, no sizes
/// to compute before or to keep. The buffer is pooled: dispose it.</remarks>
internal ref struct WireWriter
{
    private const int MaxVarintBytes = 10;
    private const int MinBuffer = 256;

    // A message that is over the limit by less is written to its end, so that the error tells its size.
    private const int Slack = 4 * 1024;

    private readonly int _maxBytes;
    private readonly string _what;
    private byte[] _buffer;
    private int _end;
    private int _position;

    public WireWriter(int sizeHint)
        : this(sizeHint, Array.MaxLength, "message")
    {
    }

    /// <param name="sizeHint">About as many bytes as will be written.</param>
    /// <param name="maxBytes">The most that may be written.</param>
    /// <param name="what">What is written, for the error: request or reply.</param>
    public WireWriter(int sizeHint, int maxBytes, string what)
    {
        _maxBytes = maxBytes;
        _what = what;
        _buffer = ArrayPool<byte>.Shared.Rent(Math.Clamp(sizeHint, MinBuffer, MaxRoom));
        _position = _end = Math.Min(_buffer.Length, MaxRoom);
    }

    /// <summary>Bytes written so far; what is written between two calls is as long as they differ.</summary>
    public readonly int Length => _end - _position;

    public readonly ReadOnlySpan<byte> Written => _buffer.AsSpan(_position, Length);

    // Pooled buffers are larger than what was asked for; the rest is left out where it is over the limit.
    private readonly int MaxRoom => (int)Math.Min(_maxBytes + (long)Slack, Array.MaxLength);

    /// <summary>Refuses what was written when it is over the limit.</summary>
    /// <exception cref="RpcException">ResourceExhausted, with its size.</exception>
    public readonly void RequireLimit()
    {
        if (Length > _maxBytes)
        {
            throw MessageErrors.TooLarge(_what, $"{Length}", _maxBytes);
        }
    }

    /// <summary>Gives the buffer to the caller, who returns it to the pool; this has none then.</summary>
    /// <param name="start">Where the written bytes begin.</param>
    public byte[] Detach(out int start)
    {
        byte[] buffer = _buffer;
        start = _position;
        _buffer = [];
        _position = _end = 0;
        return buffer;
    }

    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(Detach(out _));
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteVarint(ulong value)
    {
        if (value < 0x80 && _position > 0)
        {
            _buffer[--_position] = (byte)value;
            return;
        }
        WriteLongVarint(value);
    }

    private void WriteLongVarint(ulong value)
    {
        int size = VarintSize(value);
        Span<byte> target = Take(size);
        for (int i = 0; i < target.Length - 1; i++)
        {
            target[i] = (byte)(value | 0x80);
            value >>= 7;
        }
        target[^1] = (byte)value;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteFixed32(uint value) =>
        BinaryPrimitives.WriteUInt32LittleEndian(Take(sizeof(uint)), value);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteFixed64(ulong value) =>
        BinaryPrimitives.WriteUInt64LittleEndian(Take(sizeof(ulong)), value);

    public void WriteRaw(ReadOnlySpan<byte> bytes) => bytes.CopyTo(Take(bytes.Length));

    /// <summary>Writes bytes and, before them, their length.</summary>
    public void WriteBytes(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Take(bytes.Length));
        WriteVarint((uint)bytes.Length);
    }

    /// <summary>Writes text as UTF-8 and, before it, its length.</summary>
    public void WriteString(string text)
    {
        // Most text is ASCII, where the length in bytes is known without looking.
        Span<byte> target = Take(text.Length);
        if (Ascii.FromUtf16(text, target, out _) != OperationStatus.Done)
        {
            _position += text.Length;
            int size = Encoding.UTF8.GetByteCount(text);
            Encoding.UTF8.GetBytes(text, Take(size));
            WriteVarint((uint)size);
            return;
        }
        WriteVarint((uint)text.Length);
    }

    private static int VarintSize(ulong value) => ((BitOperations.Log2(value | 1) * 9) + 73) / 64;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Span<byte> Take(int size)
    {
        if (_position < size)
        {
            Grow(size);
        }
        _position -= size;
        return _buffer.AsSpan(_position, size);
    }

    private void Grow(int size)
    {
        int written = Length;
        long wanted = Math.Max(2L * _buffer.Length, (long)written + size + MaxVarintBytes);
        if ((long)written + size > Array.MaxLength)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"A message is larger than {Array.MaxLength} bytes. Send its parts in several messages.");
        }
        if ((long)written + size > MaxRoom)
        {
            throw MessageErrors.TooLarge(_what, $"at least {(long)written + size}", _maxBytes);
        }
        byte[] larger = ArrayPool<byte>.Shared.Rent((int)Math.Min(wanted, MaxRoom));
        int end = Math.Min(larger.Length, MaxRoom);
        Written.CopyTo(larger.AsSpan(end - written));
        ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = larger;
        _end = end;
        _position = end - written;
    }
}
