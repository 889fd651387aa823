using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The body of bind and alter_context.</summary>
/// <param name="MaxTransmit">The largest fragment that the client will send.</param>
/// <param name="MaxReceive">The largest fragment that the client accepts.</param>
/// <param name="AssociationGroup">0, or the group that an earlier bind_ack named.</param>
/// <param name="Contexts">The proposed contexts, in order.</param>
internal sealed record BindPdu(
    ushort MaxTransmit, ushort MaxReceive, uint AssociationGroup, IReadOnlyList<ContextProposal> Contexts)
{
    /// <summary>Reads a whole PDU.</summary>
    /// <returns>Null when it is too short, or longer than its contexts.</returns>
    public static BindPdu? Read(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        PduReader reader = new(pdu[..^header.TrailerLength], header.LittleEndian, PduHeader.Size);
        ushort maxTransmit = reader.ReadUInt16();
        ushort maxReceive = reader.ReadUInt16();
        uint group = reader.ReadUInt32();
        int count = reader.ReadByte();
        reader.Skip(3);

        // The list grows with the contexts that are read: the peer chooses the count.
        List<ContextProposal> contexts = [];
        for (int i = 0; i < count && !reader.Failed; i++)
        {
            ushort id = reader.ReadUInt16();
            int syntaxes = reader.ReadByte();
            reader.Skip(1);
            SyntaxId abstractSyntax = reader.ReadSyntax();
            List<SyntaxId> transfers = [];
            for (int k = 0; k < syntaxes && !reader.Failed; k++)
            {
                transfers.Add(reader.ReadSyntax());
            }

            contexts.Add(new ContextProposal(id, abstractSyntax, transfers));
        }

        // A security trailer is preceded by padding, so only a PDU without one must end here.
        bool complete = header.AuthLength == 0 ? reader.AtEnd : !reader.Failed;
        return complete ? new BindPdu(maxTransmit, maxReceive, group, contexts) : null;
    }

    /// <summary>Writes the whole PDU.</summary>
    /// <param name="type">Bind or AlterContext.</param>
    /// <param name="callId">The call id, which the reply repeats.</param>
    public byte[] ToBytes(PduType type, uint callId)
    {
        int size = PduHeader.Size + 12;
        foreach (ContextProposal context in Contexts)
        {
            size += 4 + SyntaxId.Size * (1 + context.Transfers.Count);
        }

        byte[] pdu = new byte[size];
        PduHeader.Write(pdu, type, PduFlags.Single, size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt16(MaxTransmit);
        writer.WriteUInt16(MaxReceive);
        writer.WriteUInt32(AssociationGroup);
        writer.WriteByte(checked((byte)Contexts.Count));
        writer.WriteZeros(3);
        foreach (ContextProposal context in Contexts)
        {
            writer.WriteUInt16(context.Id);
            writer.WriteByte(checked((byte)context.Transfers.Count));
            writer.WriteByte(0);
            writer.WriteSyntax(context.Interface);
            foreach (SyntaxId transfer in context.Transfers)
            {
                writer.WriteSyntax(transfer);
            }
        }

        return pdu;
    }
}

/// <summary>One presentation context of a bind or alter_context.</summary>
/// <param name="Id">The number that requests name it by.</param>
/// <param name="Interface">The abstract syntax.</param>
/// <param name="Transfers">The transfer syntaxes that the client can use.</param>
internal sealed record ContextProposal(ushort Id, SyntaxId Interface, IReadOnlyList<SyntaxId> Transfers);

/// <summary>The body of bind_ack and alter_context_resp.</summary>
/// <param name="MaxTransmit">The largest fragment that the server will send.</param>
/// <param name="MaxReceive">The largest fragment that the server accepts.</param>
/// <param name="AssociationGroup">The group; not zero.</param>
/// <param name="SecondaryAddress">The name of the server's endpoint; empty in alter_context_resp.</param>
/// <param name="Results">One for each proposed context, in order.</param>
internal sealed record BindAckPdu(
    ushort MaxTransmit, ushort MaxReceive, uint AssociationGroup, string SecondaryAddress,
    IReadOnlyList<ContextResult> Results)
{
    private const int ResultSize = 4 + SyntaxId.Size;

    /// <summary>Reads a whole PDU.</summary>
    /// <returns>Null when it is too short, or longer than its results.</returns>
    public static BindAckPdu? Read(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        PduReader reader = new(pdu[..^header.TrailerLength], header.LittleEndian, PduHeader.Size);
        ushort maxTransmit = reader.ReadUInt16();
        ushort maxReceive = reader.ReadUInt16();
        uint group = reader.ReadUInt32();
        string address = Encoding.Latin1.GetString(reader.Take(reader.ReadUInt16())).TrimEnd('\0');
        reader.Align(4);
        int count = reader.ReadByte();
        reader.Skip(3);
        List<ContextResult> results = [];
        for (int i = 0; i < count && !reader.Failed; i++)
        {
            results.Add(new ContextResult(
                (ContextDecision)reader.ReadUInt16(), reader.ReadUInt16(), reader.ReadSyntax()));
        }

        bool complete = header.AuthLength == 0 ? reader.AtEnd : !reader.Failed;
        return complete ? new BindAckPdu(maxTransmit, maxReceive, group, address, results) : null;
    }

    /// <summary>Writes the whole PDU.</summary>
    /// <param name="type">BindAck or AlterContextResponse.</param>
    /// <param name="callId">The call id of the bind.</param>
    public byte[] ToBytes(PduType type, uint callId)
    {
        byte[] address = SecondaryAddress.Length == 0 ? [] : Encoding.ASCII.GetBytes(SecondaryAddress + "\0");
        int padding = -(PduHeader.Size + 10 + address.Length) & 3;
        int size = PduHeader.Size + 10 + address.Length + padding + 4 + ResultSize * Results.Count;
        byte[] pdu = new byte[size];
        PduHeader.Write(pdu, type, PduFlags.Single, size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt16(MaxTransmit);
        writer.WriteUInt16(MaxReceive);
        writer.WriteUInt32(AssociationGroup);
        writer.WriteUInt16((ushort)address.Length);
        writer.WriteBytes(address);
        writer.WriteZeros(padding);
        writer.WriteByte(checked((byte)Results.Count));
        writer.WriteZeros(3);
        foreach (ContextResult result in Results)
        {
            writer.WriteUInt16((ushort)result.Result);
            writer.WriteUInt16(result.Reason);
            writer.WriteSyntax(result.Transfer);
        }

        return pdu;
    }
}

/// <summary>The body of bind_nak.</summary>
internal static class BindNakPdu
{
    private const int Size = PduHeader.Size + 5;

    /// <summary>Reads the reason. The fields after it differ between peers and are ignored.</summary>
    /// <returns>False when even the reason is missing.</returns>
    public static bool TryReadReason(in PduHeader header, ReadOnlySpan<byte> pdu, out BindNakReason reason)
    {
        PduReader reader = new(pdu, header.LittleEndian, PduHeader.Size);
        reason = (BindNakReason)reader.ReadUInt16();
        return !reader.Failed;
    }

    /// <summary>Writes the whole PDU, naming 5.0 as the supported version.</summary>
    public static byte[] ToBytes(BindNakReason reason, uint callId)
    {
        byte[] pdu = new byte[Size];
        PduHeader.Write(pdu, PduType.BindNak, PduFlags.Single, Size, 0, callId);
        PduWriter writer = new(pdu, PduHeader.Size);
        writer.WriteUInt16((ushort)reason);
        writer.WriteByte(1);
        writer.WriteByte(5);
        writer.WriteByte(0);
        return pdu;
    }
}

/// <summary>Why a bind was rejected. The numbers differ from those of <see cref="ContextResult"/>.</summary>
internal enum BindNakReason : ushort
{
    /// <summary>No reason is given.</summary>
    Unspecified = 0,

    /// <summary>The server is busy.</summary>
    TemporaryCongestion = 1,

    /// <summary>The server has reached its maximum number of connections.</summary>
    LocalLimit = 2,

    /// <summary>The protocol version is not supported.</summary>
    ProtocolVersion = 4,

    /// <summary>The security package is unknown.</summary>
    AuthenticationType = 8,

    /// <summary>A checksum is wrong.</summary>
    InvalidChecksum = 9,
}

/// <summary>The body of auth3, which carries the client's last token and has no reply ([MS-RPCE] section
/// 2.2.2.5).</summary>
internal static class Auth3Pdu
{
    // The header, and four octets of padding.
    private const int Size = PduHeader.Size + 4;

    /// <summary>Writes the PDU without its trailer.</summary>
    public static byte[] ToBytes(uint callId)
    {
        byte[] pdu = new byte[Size];
        PduHeader.Write(pdu, PduType.Auth3, PduFlags.Single, Size, 0, callId);
        return pdu;
    }
}

/// <summary>The result for one proposed context.</summary>
/// <param name="Result">The decision.</param>
/// <param name="Reason">Why the context was rejected, or the bits of the acknowledged features.</param>
/// <param name="Transfer">The accepted syntax; zero otherwise.</param>
internal readonly record struct ContextResult(ContextDecision Result, ushort Reason, SyntaxId Transfer)
{
    /// <summary>Provider reason: not specified.</summary>
    public const ushort NotSpecified = 0;

    /// <summary>Provider reason: the interface is not served.</summary>
    public const ushort InterfaceNotSupported = 1;

    /// <summary>Provider reason: no proposed transfer syntax is supported.</summary>
    public const ushort TransferNotSupported = 2;

    /// <summary>Provider reason: too many contexts.</summary>
    public const ushort LocalLimit = 3;

    /// <summary>The context with NDR.</summary>
    public static ContextResult Accepted { get; } = new(ContextDecision.Accepted, 0, SyntaxId.Ndr);

    /// <summary>A rejection by this side.</summary>
    public static ContextResult Refused(ushort reason) =>
        new(ContextDecision.ProviderRejection, reason, default);

    /// <summary>The result for bind-time features.</summary>
    public static ContextResult Features(ushort bits) => new(ContextDecision.NegotiateAck, bits, default);
}

/// <summary>The result field of a context.</summary>
internal enum ContextDecision : ushort
{
    /// <summary>Accepted.</summary>
    Accepted = 0,

    /// <summary>The program that serves the interface rejected the context.</summary>
    UserRejection = 1,

    /// <summary>The RPC runtime rejected the context.</summary>
    ProviderRejection = 2,

    /// <summary>Bind-time features were acknowledged ([MS-RPCE] section 2.2.2.4).</summary>
    NegotiateAck = 3,
}

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

    /// <summary>NDR 2.0, the only supported transfer syntax.</summary>
    public static SyntaxId Ndr { get; } = new(new Guid("8a885d04-1ceb-11c9-9fe8-08002b104860"), 2);

    /// <summary>The interface of an IID, version 1.0.</summary>
    public static SyntaxId Interface(Guid interfaceId) => new(interfaceId, 1);

    /// <summary>Whether this syntax proposes bind-time features instead.</summary>
    /// <param name="features">Their bits.</param>
    public bool IsFeatureNegotiation(out ushort features)
    {
        Span<byte> octets = stackalloc byte[16];
        Id.TryWriteBytes(octets);
        features = BinaryPrimitives.ReadUInt16LittleEndian(octets[8..]);
        return Version == 1 && BinaryPrimitives.ReadUInt64LittleEndian(octets) == FeaturePrefix;
    }

    public override string ToString() => $"{Id} v{Version & 0xFFFF}.{Version >> 16}";
}

/// <summary>The error of a caller whose bind or interface a server rejected.</summary>
internal static class BindRefusal
{
    /// <summary>A bind_nak.</summary>
    public static RpcException OfBind(RpcEndpoint endpoint, BindNakReason reason)
    {
        (RpcStatusCode code, string why) = reason switch
        {
            BindNakReason.LocalLimit => (RpcStatusCode.ResourceExhausted,
                "it has reached its limit of connections. Try again later, or raise MaxConnections or "
                + "MaxConnectionsPerAddress there"),
            BindNakReason.TemporaryCongestion => (RpcStatusCode.ResourceExhausted,
                "it is too busy. Try again later"),
            BindNakReason.ProtocolVersion => (RpcStatusCode.Internal,
                "it does not support DCE/RPC version 5.0"),
            BindNakReason.AuthenticationType => (RpcStatusCode.Unauthenticated,
                "it does not support the authentication type"),
            _ => (RpcStatusCode.Unavailable, $"it returned bind_nak reason {(ushort)reason}"),
        };
        return new RpcException(code, $"'{endpoint}' rejected the connection: {why}.", endpoint);
    }

    /// <summary>A bind_ack whose result is not that the interface was accepted.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="interfaceId">The requested interface.</param>
    /// <param name="interfaceName">The service's name; null if it is unknown.</param>
    /// <param name="refused">The server's result.</param>
    public static RpcException OfContext(
        RpcEndpoint endpoint, Guid interfaceId, string? interfaceName, ContextResult refused)
    {
        (RpcStatusCode code, string why) = (refused.Result, refused.Reason) switch
        {
            (ContextDecision.ProviderRejection, ContextResult.InterfaceNotSupported) =>
                (RpcStatusCode.Unimplemented,
                "the server does not serve this interface. Check the interface id and the endpoint"),
            (ContextDecision.ProviderRejection, ContextResult.TransferNotSupported) =>
                (RpcStatusCode.Unimplemented, "the server does not support NDR 2.0"),
            (ContextDecision.ProviderRejection, ContextResult.LocalLimit) =>
                (RpcStatusCode.ResourceExhausted, "the server has too many contexts on this connection"),
            _ => (RpcStatusCode.PermissionDenied,
                $"the server returned result {(ushort)refused.Result}, reason {refused.Reason}"),
        };
        string name = interfaceName is null ? "" : $" of '{interfaceName}'";
        return new RpcException(
            code,
            $"'{endpoint}' does not accept interface {interfaceId}{name}: {why}.", endpoint);
    }
}
