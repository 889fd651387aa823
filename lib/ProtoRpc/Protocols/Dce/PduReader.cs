using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Reads integers and UUIDs of either byte order.</summary>
/// <remarks>Reading past the end gives zeros and sets <see cref="Failed"/>,
/// so a parser checks once, at its end.</remarks>
internal ref struct PduReader(ReadOnlySpan<byte> bytes, bool littleEndian, int position = 0)
{
    private readonly ReadOnlySpan<byte> _bytes = bytes;
    private readonly bool _littleEndian = littleEndian;

    /// <summary>Where the next octet is read.</summary>
    public int Position { get; private set; } = position;

    /// <summary>Whether something was read past the end.</summary>
    public bool Failed { get; private set; }

    /// <summary>Whether everything was read, and nothing past it.</summary>
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

    // A UUID's first three parts follow the byte order, its last eight octets do not.
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

    /// <summary>The next octets, or none when there are too few of them.</summary>
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

    /// <summary>Where the next octet is written.</summary>
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

/// <summary>The bytes that came and are not used yet, in one piece,
/// so that a whole PDU can be used in place.</summary>
/// <remarks>Grows when it is full of received bytes, or in the middle of a message, never because a length
/// was claimed. Not thread-safe.</remarks>
internal sealed class PduBuffer : IDisposable
{
    private const int InitialSize = 4 * 1024;
    private const int MaxSize = 128 * 1024;

    // What a connection keeps between messages that need more than the initial size.
    private const int RetainedBytes = 16 * 1024;

    // Receives of a fragment each would make a large message cost many system calls.
    private const int MessageSize = 64 * 1024;

    private byte[] _bytes = ArrayPool<byte>.Shared.Rent(InitialSize);
    private int _start;
    private int _end;

    /// <summary>What came and was not taken.</summary>
    public ReadOnlySpan<byte> Unread => _bytes.AsSpan(_start, _end - _start);

    /// <summary>Where the next bytes are received.
    /// Memory that <see cref="Take"/> gave is then no longer valid.</summary>
    /// <param name="isMidMessage">Whether fragments of a message came, and more are to come.</param>
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

    /// <summary>Gives most of the memory back that a large message needed.</summary>
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
            // A PDU is at most half of the largest size, so there is always something to gain by moving.
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
