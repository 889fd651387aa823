using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages.Binary;

/// <summary>Writes protobuf's wire format from its end to its start.</summary>
/// <remarks>Backwards, the length of a nested message is known when it must be written. So one pass suffices,
/// and no sizes are computed or stored. The buffer is pooled: dispose it.</remarks>
internal ref struct WireWriter
{
    // The space for a length or value and its tag: two varints of at most ten bytes.
    private const int HeadRoom = 20;
    private const int MinBuffer = 256;

    // A message that exceeds the limit by less is written completely, so that the error contains its size.
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
    /// <param name="what">The kind of message for the error: request or reply.</param>
    public WireWriter(int sizeHint, int maxBytes, string what)
    {
        _maxBytes = maxBytes;
        _what = what;
        _buffer = ArrayPool<byte>.Shared.Rent(Math.Clamp(sizeHint, MinBuffer, MaxRoom));
        _position = _end = Math.Min(_buffer.Length, MaxRoom);
    }

    /// <summary>Whether any written message lacks one of its required fields.</summary>
    public bool IsIncomplete { get; set; }

    /// <summary>The number of bytes written. The difference between two calls is the length of the bytes
    /// between them.</summary>
    public readonly int Length => _end - _position;

    public readonly ReadOnlySpan<byte> Written => _buffer.AsSpan(_position, Length);

    // A pooled buffer may be larger than requested. The memory beyond the limit is not used.
    private readonly int MaxRoom => (int)Math.Min(_maxBytes + (long)Slack, Array.MaxLength);

    /// <summary>Rejects the message if it is over the limit.</summary>
    /// <exception cref="RpcException">ResourceExhausted, with its size.</exception>
    public readonly void RequireLimit()
    {
        if (Length > _maxBytes)
        {
            throw MessageErrors.TooLarge(_what, $"{Length:N0}", _maxBytes);
        }
    }

    /// <summary>Passes the buffer to the caller, who returns it to the pool. The writer has no buffer
    /// afterwards.</summary>
    /// <param name="start">The position of the first written byte.</param>
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
    public void WriteVarint(ulong value) => _position = VarintAt(Room(0), value);

    /// <summary>Writes a varint and, before it, its field's tag.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteVarint(ulong value, uint tag) => _position = VarintAt(VarintAt(Room(0), value), tag);

    public void WriteFixed32(uint value)
    {
        int position = Room(sizeof(uint)) - sizeof(uint);
        BinaryPrimitives.WriteUInt32LittleEndian(_buffer.AsSpan(position, sizeof(uint)), value);
        _position = position;
    }

    public void WriteFixed64(ulong value)
    {
        int position = Room(sizeof(ulong)) - sizeof(ulong);
        BinaryPrimitives.WriteUInt64LittleEndian(_buffer.AsSpan(position, sizeof(ulong)), value);
        _position = position;
    }

    /// <summary>Writes 64 bits and, before them, their field's tag.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void WriteFixed64(ulong value, uint tag)
    {
        int position = Room(sizeof(ulong)) - sizeof(ulong);
        BinaryPrimitives.WriteUInt64LittleEndian(_buffer.AsSpan(position, sizeof(ulong)), value);
        _position = VarintAt(position, tag);
    }

    /// <summary>Writes bytes without a tag or length.</summary>
    public void WriteRaw(ReadOnlySpan<byte> bytes)
    {
        int position = Room(bytes.Length) - bytes.Length;
        bytes.CopyTo(_buffer.AsSpan(position));
        _position = position;
    }

    /// <summary>Writes bytes and, before them, their length and their field's tag.</summary>
    public void WriteBytes(ReadOnlySpan<byte> bytes, uint tag)
    {
        int position = Room(bytes.Length) - bytes.Length;
        bytes.CopyTo(_buffer.AsSpan(position));
        _position = VarintAt(VarintAt(position, (uint)bytes.Length), tag);
    }

    /// <summary>Writes text as UTF-8 and, before it, its length and its field's tag.</summary>
    public void WriteString(string text, uint tag)
    {
        // Fast path: most text is ASCII, whose length in bytes is the number of characters.
        int size = text.Length;
        int position = Room(size) - size;
        if (Ascii.FromUtf16(text, _buffer.AsSpan(position, size), out _) != OperationStatus.Done)
        {
            size = Encoding.UTF8.GetByteCount(text);
            position = Room(size) - size;
            Encoding.UTF8.GetBytes(text, _buffer.AsSpan(position, size));
        }
        _position = VarintAt(VarintAt(position, (uint)size), tag);
    }

    /// <summary>Bytes of a varint.</summary>
    public static int VarintSize(ulong value) => ((BitOperations.Log2(value | 1) * 9) + 73) / 64;

    // Writes before a position. The caller has reserved the space.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly int VarintAt(int position, ulong value)
    {
        if (value < 0x80)
        {
            _buffer[--position] = (byte)value;
            return position;
        }
        return LongVarintAt(position, value);
    }

    private readonly int LongVarintAt(int position, ulong value)
    {
        position -= VarintSize(value);
        byte[] buffer = _buffer;
        int at = position;
        while (value >= 0x80)
        {
            buffer[at++] = (byte)(value | 0x80);
            value >>= 7;
        }
        buffer[at] = (byte)value;
        return position;
    }

    /// <summary>Reserves space before the written bytes, including a length and a tag.</summary>
    /// <returns>The position of the reserved space.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int Room(int size)
    {
        if (_position - HeadRoom < size)
        {
            Grow(size);
        }
        return _position;
    }

    private void Grow(int size)
    {
        int written = Length;
        long needed = (long)written + size + HeadRoom;
        if (needed > Array.MaxLength)
        {
            throw MessageErrors.LargerThanArrays();
        }
        if (needed > MaxRoom)
        {
            throw MessageErrors.TooLarge(_what, $"at least {(long)written + size:N0}", _maxBytes);
        }
        long wanted = Math.Max(2L * _buffer.Length, needed);
        byte[] larger = ArrayPool<byte>.Shared.Rent((int)Math.Min(wanted, MaxRoom));
        int end = Math.Min(larger.Length, MaxRoom);
        Written.CopyTo(larger.AsSpan(end - written));
        ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = larger;
        _end = end;
        _position = end - written;
    }
}
