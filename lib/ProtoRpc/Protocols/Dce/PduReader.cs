using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Reads integers and UUIDs of either byte order.</summary>
/// <remarks>Reading past the end gives zeros and sets <see cref="Failed"/>,
/// so a parser checks once, at its end.</remarks>
internal ref struct PduReader
{
    private readonly ReadOnlySpan<byte> _bytes;
    private readonly bool _littleEndian;

    public PduReader(ReadOnlySpan<byte> bytes, bool littleEndian, int position = 0)
    {
        _bytes = bytes;
        _littleEndian = littleEndian;
        Position = position;
    }

    /// <summary>Where the next octet is read.</summary>
    public int Position { get; private set; }

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
