using System.Buffers.Binary;

namespace ProtoRpc.Protocols.Dce;

/// <summary>The sixteen octets that every PDU begins with.</summary>
internal readonly struct PduHeader
{
    /// <summary>Octets of the common header.</summary>
    public const int Size = 16;

    /// <summary>Octets before the stub of a request without object UUID, and of a response.</summary>
    public const int CallSize = 24;

    /// <summary>The fragment size that all implementations must accept (C706 section 12.6.3.1).</summary>
    public const int MustReceiveFragment = 1432;

    private const byte MajorVersion = 5;
    private const byte LittleEndianAscii = 0x10;

    private PduHeader(ReadOnlySpan<byte> pdu)
    {
        Major = pdu[0];
        Minor = pdu[1];
        Type = (PduType)pdu[2];
        Flags = (PduFlags)pdu[3];
        Representation = pdu[4];
        FragmentLength = LittleEndian
            ? BinaryPrimitives.ReadUInt16LittleEndian(pdu[8..])
            : BinaryPrimitives.ReadUInt16BigEndian(pdu[8..]);
        AuthLength = LittleEndian
            ? BinaryPrimitives.ReadUInt16LittleEndian(pdu[10..])
            : BinaryPrimitives.ReadUInt16BigEndian(pdu[10..]);
        CallId = LittleEndian
            ? BinaryPrimitives.ReadUInt32LittleEndian(pdu[12..])
            : BinaryPrimitives.ReadUInt32BigEndian(pdu[12..]);
    }

    /// <summary>Protocol version, 5.</summary>
    public byte Major { get; }

    /// <summary>Minor version, 0 or 1.</summary>
    public byte Minor { get; }

    public PduType Type { get; }

    public PduFlags Flags { get; }

    /// <summary>The first octet of the data representation: integer and character format.</summary>
    public byte Representation { get; }

    /// <summary>The whole PDU, header and trailer included.</summary>
    public ushort FragmentLength { get; }

    /// <summary>The authentication value only; 0 means that there is no trailer.</summary>
    public ushort AuthLength { get; }

    public uint CallId { get; }

    /// <summary>The byte order of everything in this PDU.</summary>
    public bool LittleEndian => Representation >> 4 == 1;

    /// <summary>Octets at the end of the PDU that are the security trailer and its value.</summary>
    public int TrailerLength => AuthLength == 0 ? 0 : AuthTrailer.Size + AuthLength;

    /// <summary>Reads the header; <paramref name="pdu"/> has at least <see cref="Size"/> octets.</summary>
    public static PduHeader Read(ReadOnlySpan<byte> pdu) => new(pdu);

    /// <summary>Writes a little-endian header of version 5.0.</summary>
    public static void Write(
        Span<byte> target, PduType type, PduFlags flags, int fragmentLength, int authLength, uint callId)
    {
        target[0] = MajorVersion;
        target[1] = 0;
        target[2] = (byte)type;
        target[3] = (byte)flags;
        BinaryPrimitives.WriteUInt32LittleEndian(target[4..], LittleEndianAscii);
        BinaryPrimitives.WriteUInt16LittleEndian(target[8..], checked((ushort)fragmentLength));
        BinaryPrimitives.WriteUInt16LittleEndian(target[10..], checked((ushort)authLength));
        BinaryPrimitives.WriteUInt32LittleEndian(target[12..], callId);
    }

    /// <summary>A PDU that consists of its header: shutdown, co_cancel, orphaned.</summary>
    public static byte[] HeaderOnly(PduType type, uint callId)
    {
        byte[] pdu = new byte[Size];
        Write(pdu, type, PduFlags.Single, Size, 0, callId);
        return pdu;
    }

    /// <summary>Finds defects that make a PDU of any type unusable.</summary>
    /// <param name="maxFragment">The largest fragment that is accepted.</param>
    public PduDefect Check(int maxFragment)
    {
        if (Major != MajorVersion || Minor > 1)
        {
            return PduDefect.Version;
        }

        if (Representation is not (0x00 or LittleEndianAscii))
        {
            return PduDefect.Representation;
        }

        if (FragmentLength < Size || FragmentLength > maxFragment)
        {
            return PduDefect.Length;
        }

        return Size + TrailerLength > FragmentLength ? PduDefect.AuthLength : PduDefect.None;
    }
}

/// <summary>The defects of a PDU's common header.</summary>
internal enum PduDefect
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>Not protocol version 5.0 or 5.1, or not DCE/RPC.</summary>
    Version,

    /// <summary>Its data representation has EBCDIC characters or an unknown integer format.</summary>
    Representation,

    /// <summary>The fragment is shorter than its header, or longer than the negotiated size.</summary>
    Length,

    /// <summary>The security trailer does not fit in the fragment.</summary>
    AuthLength,
}

/// <summary>Kinds of connection-oriented PDUs (C706 section 12.6.4). The numbers that are left out belong to
/// the datagram protocol and to RPC over HTTP.</summary>
internal enum PduType : byte
{
    /// <summary>A fragment of a request.</summary>
    Request = 0,

    /// <summary>A fragment of a response.</summary>
    Response = 2,

    /// <summary>The call failed below the interface.</summary>
    Fault = 3,

    /// <summary>Opens an association.</summary>
    Bind = 11,

    /// <summary>Accepts an association; each context has its own result.</summary>
    BindAck = 12,

    /// <summary>Rejects an association.</summary>
    BindNak = 13,

    /// <summary>Adds contexts to an association.</summary>
    AlterContext = 14,

    /// <summary>The reply to <see cref="AlterContext"/>.</summary>
    AlterContextResponse = 15,

    /// <summary>The third leg of a token exchange; it has no reply.</summary>
    Auth3 = 16,

    /// <summary>The server asks the client to disconnect.</summary>
    Shutdown = 17,

    /// <summary>The client asks that the call ends early, and waits for the reply.</summary>
    CoCancel = 18,

    /// <summary>The client does not wait for a reply.</summary>
    Orphaned = 19,
}

/// <summary>The pfc_flags of a PDU (C706 section 12.6.3.1).</summary>
[Flags]
internal enum PduFlags : byte
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>First fragment of a call's request or response.</summary>
    First = 0x01,

    /// <summary>Last fragment.</summary>
    Last = 0x02,

    /// <summary>Both: the PDU contains the whole message.</summary>
    Single = First | Last,

    /// <summary>On a request: a cancel was pending when it was sent.</summary>
    PendingCancel = 0x04,

    /// <summary>The same bit on the PDUs of a bind: signatures can cover header and trailer.</summary>
    HeaderSigning = 0x04,

    /// <summary>Calls may interleave on the connection.</summary>
    ConcurrentMultiplexing = 0x10,

    /// <summary>On a fault: the call did not run.</summary>
    DidNotExecute = 0x20,

    /// <summary>The client expects no reply.</summary>
    Maybe = 0x40,

    /// <summary>Sixteen octets of object UUID follow a request's header.</summary>
    ObjectUuid = 0x80,
}
