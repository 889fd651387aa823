using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Reads integers and UUIDs of either byte order.</summary>
/// <remarks>Reading past the end returns zeros and sets <see cref="Failed"/>, so a parser only checks at its
/// end.</remarks>
internal ref struct PduReader(ReadOnlySpan<byte> bytes, bool littleEndian, int position = 0)
{
    private readonly ReadOnlySpan<byte> _bytes = bytes;
    private readonly bool _littleEndian = littleEndian;

    /// <summary>The position of the next octet to read.</summary>
    public int Position { get; private set; } = position;

    /// <summary>Whether a read went past the end.</summary>
    public bool Failed { get; private set; }

    /// <summary>Whether all octets were read, and none past the end.</summary>
    public readonly bool AtEnd => !Failed && Position == _bytes.Length;

    public byte ReadByte()
    {
        ReadOnlySpan<byte> octets = Take(1);
        return octets.IsEmpty ? (byte)0 : octets[0];
    }

    public ushort ReadUInt16()
    {
        ReadOnlySpan<byte> octets = Take(2);
        if (octets.IsEmpty)
        {
            return 0;
        }

        return _littleEndian
            ? BinaryPrimitives.ReadUInt16LittleEndian(octets)
            : BinaryPrimitives.ReadUInt16BigEndian(octets);
    }

    public uint ReadUInt32()
    {
        ReadOnlySpan<byte> octets = Take(4);
        if (octets.IsEmpty)
        {
            return 0;
        }

        return _littleEndian
            ? BinaryPrimitives.ReadUInt32LittleEndian(octets)
            : BinaryPrimitives.ReadUInt32BigEndian(octets);
    }

    // The first three parts of a UUID have the byte order of the PDU; the last eight octets are always in the
    // same order.
    public Guid ReadGuid()
    {
        ReadOnlySpan<byte> octets = Take(16);
        return octets.IsEmpty ? Guid.Empty : new Guid(octets, bigEndian: !_littleEndian);
    }

    public SyntaxId ReadSyntax() => new(ReadGuid(), ReadUInt32());

    public void Skip(int count) => Take(count);

    /// <summary>Skips the padding up to a multiple of <paramref name="alignment"/>
    /// from the first octet.</summary>
    public void Align(int alignment) => Skip(-Position & (alignment - 1));

    /// <summary>The next octets; empty if there are fewer than requested.</summary>
    public ReadOnlySpan<byte> Take(int count)
    {
        if (Failed || count < 0 || count > _bytes.Length - Position)
        {
            Failed = true;
            return default;
        }

        ReadOnlySpan<byte> octets = _bytes.Slice(Position, count);
        Position += count;
        return octets;
    }
}

/// <summary>Writes little-endian integers and UUIDs into a span that is large enough.</summary>
internal ref struct PduWriter(Span<byte> target, int position)
{
    private readonly Span<byte> _target = target;

    /// <summary>The position of the next octet to write.</summary>
    public int Position { get; private set; } = position;

    public void WriteByte(byte value) => _target[Position++] = value;

    public void WriteUInt16(ushort value)
    {
        BinaryPrimitives.WriteUInt16LittleEndian(_target[Position..], value);
        Position += 2;
    }

    public void WriteUInt32(uint value)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(_target[Position..], value);
        Position += 4;
    }

    public void WriteSyntax(SyntaxId syntax)
    {
        syntax.Id.TryWriteBytes(_target[Position..]);
        Position += 16;
        WriteUInt32(syntax.Version);
    }

    public void WriteBytes(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(_target[Position..]);
        Position += bytes.Length;
    }

    public void WriteZeros(int count)
    {
        _target.Slice(Position, count).Clear();
        Position += count;
    }
}

/// <summary>The received bytes that are not used yet, in one piece of memory, so that PDUs are not
/// copied.</summary>
/// <remarks>The buffer grows if received bytes fill it, or in the middle of a message, but never because a
/// peer announced a length. Not thread-safe.</remarks>
internal sealed class PduBuffer : IDisposable
{
    private const int InitialSize = 4 * 1024;
    private const int MaxSize = 128 * 1024;

    // The buffer shrinks to this size after a message that needed more.
    private const int RetainedBytes = 16 * 1024;

    // In the middle of a message, a buffer of this size receives several fragments with one system call.
    private const int MessageSize = 64 * 1024;

    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
    private int _start;
    private int _end;

    /// <summary>The bytes that were received and not taken.</summary>
    public ReadOnlySpan<byte> Unread => _bytes.AsSpan(_start, _end - _start);

    /// <summary>The memory for the next received bytes. Memory that <see cref="Take"/> returned becomes
    /// invalid.</summary>
    /// <param name="isMidMessage">Whether more fragments of a message follow.</param>
    public Memory<byte> GetFreeMemory(bool isMidMessage = false)
    {
        if (_start == _end)
        {
            _start = _end = 0;
        }

        if (isMidMessage && _bytes.Length < MessageSize)
        {
            Grow(MessageSize);
        }
        else if (_end == _bytes.Length)
        {
            MakeRoom();
        }

        return _bytes.AsMemory(_end);
    }

    /// <summary>Releases most of the memory of a large message.</summary>
    public void Trim()
    {
        if (_start == _end && _bytes.Length > RetainedBytes)
        {
            byte[] large = _bytes;
            _bytes = [];
            ArrayPool<byte>.Shared.Return(large);
            _bytes = ArrayPool<byte>.Shared.Rent(RetainedBytes);
            _start = _end = 0;
        }
    }

    /// <summary>Adds bytes that were received into <see cref="GetFreeMemory"/>.</summary>
    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)count, (uint)(_bytes.Length - _end));
        _end += count;
    }

    /// <summary>Takes bytes from the front;
    /// they stay valid until the next <see cref="GetFreeMemory"/>.</summary>
    public Memory<byte> Take(int count)
    {
        Memory<byte> taken = _bytes.AsMemory(_start, count);
        _start += count;
        return taken;
    }

    public void Dispose()
    {
        byte[] bytes = _bytes;
        _bytes = [];
        _start = _end = 0;
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    private void MakeRoom()
    {
        if (_start > _bytes.Length / 2 || _bytes.Length >= MaxSize)
        {
            // A PDU has at most half of MaxSize, so moving the bytes always frees space.
            _bytes.AsSpan(_start, _end - _start).CopyTo(_bytes);
            _end -= _start;
            _start = 0;
        }
        else
        {
            Grow(_bytes.Length * 2);
        }
    }

    private void Grow(int size)
    {
        byte[] larger = ArrayPool<byte>.Shared.Rent(size);
        _bytes.AsSpan(_start, _end - _start).CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = larger;
        _end -= _start;
        _start = 0;
    }
}
