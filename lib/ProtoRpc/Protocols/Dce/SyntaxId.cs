using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>An interface or a transfer syntax: UUID and version.</summary>
/// <param name="Id">The UUID.</param>
/// <param name="Version">Major version in the low 16 bits, minor version in the high ones.</param>
internal readonly record struct SyntaxId(Guid Id, uint Version)
{
    /// <summary>UUID and version.</summary>
    public const int Size = 20;

    // The first eight octets of the UUIDs that mean bind-time features; the others are a bit mask
    // ([MS-RPCE] section 3.3.1.5.3).
    private const ulong FeaturePrefix = 0x45409812_6CB71C2C;

    /// <summary>NDR 2.0, the transfer syntax that is spoken here.</summary>
    public static SyntaxId Ndr { get; } = new(new Guid("8a885d04-1ceb-11c9-9fe8-08002b104860"), 2);

    /// <summary>The interface of an IID, version 1.0.</summary>
    public static SyntaxId Interface(Guid interfaceId) => new(interfaceId, 1);

    /// <summary>Whether this is no syntax but a proposal of features.</summary>
    /// <param name="features">Their bits.</param>
    public bool IsFeatureNegotiation(out ushort features)
    {
        Span<byte> octets = stackalloc byte[16];
        Id.TryWriteBytes(octets);
        features = BinaryPrimitives.ReadUInt16LittleEndian(octets[8..]);
        return Version == 1 && BinaryPrimitives.ReadUInt64LittleEndian(octets) == FeaturePrefix;
    }

    /// <inheritdoc/>
    public override string ToString() => $"{Id} v{Version & 0xFFFF}.{Version >> 16}";
}
