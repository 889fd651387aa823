using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Writes little-endian integers and UUIDs into a span that is large enough.</summary>
internal ref struct PduWriter
{
    private readonly Span<byte> _target;

    public PduWriter(Span<byte> target, int position)
    {
        _target = target;
        Position = position;
    }

    /// <summary>Where the next octet is written.</summary>
    public int Position { get; private set; }

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
