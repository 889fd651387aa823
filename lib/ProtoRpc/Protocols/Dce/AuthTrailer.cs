namespace ProtoRpc.Protocols.Dce;

/// <summary>The security trailer at the end of a PDU (C706 section 13.2.6.1).</summary>
/// <param name="Type">The security package: 9 SPNEGO, 10 NTLM, 16 Kerberos.</param>
/// <param name="Level">The protection level, 1 none to 6 privacy.</param>
/// <param name="PadLength">Padding between the stub and the trailer.</param>
/// <param name="ContextId">The security context that the client chose.</param>
internal readonly record struct AuthTrailer(byte Type, byte Level, byte PadLength, uint ContextId)
{
    /// <summary>Octets of the trailer before the authentication value.</summary>
    public const int Size = 8;

    private const int Alignment = 4;

    /// <summary>Reads the trailer of a whole PDU, if it has one.</summary>
    /// <param name="header">The header, already checked.</param>
    /// <param name="pdu">The PDU.</param>
    /// <param name="bodyOffset">Where the body begins, which the padding must not reach.</param>
    /// <param name="trailer">The trailer.</param>
    /// <returns>False when there is none, or when its padding is larger than the body.</returns>
    public static bool TryRead(
        in PduHeader header, ReadOnlySpan<byte> pdu, int bodyOffset, out AuthTrailer trailer)
    {
        trailer = default;
        if (header.AuthLength == 0)
        {
            return false;
        }

        PduReader reader = new(pdu, header.LittleEndian, pdu.Length - header.TrailerLength);
        byte type = reader.ReadByte();
        byte level = reader.ReadByte();
        byte padLength = reader.ReadByte();
        reader.Skip(1);
        trailer = new AuthTrailer(type, level, padLength, reader.ReadUInt32());
        return !reader.Failed && bodyOffset + padLength <= pdu.Length - header.TrailerLength;
    }

    /// <summary>Adds a trailer and its value to a PDU that has none.</summary>
    /// <exception cref="RpcException">ResourceExhausted when the value is too large for one PDU.</exception>
    public static byte[] Append(byte[] pdu, AuthTrailer trailer, ReadOnlySpan<byte> value)
    {
        int padding = -pdu.Length & (Alignment - 1);
        int whole = pdu.Length + padding + Size + value.Length;
        if (whole > ushort.MaxValue)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted, RpcErrorIds.TokenTooLarge,
                $"The authentication token has {value.Length:N0} bytes, which is more than a PDU can hold.");
        }

        byte[] longer = new byte[whole];
        pdu.CopyTo(longer, 0);
        PduHeader header = PduHeader.Read(pdu);
        PduHeader.Write(longer, header.Type, header.Flags, whole, value.Length, header.CallId);
        (trailer with { PadLength = (byte)padding }).Write(longer.AsSpan(pdu.Length + padding));
        value.CopyTo(longer.AsSpan(whole - value.Length));
        return longer;
    }

    /// <summary>Writes the trailer without its value.</summary>
    public void Write(Span<byte> target)
    {
        PduWriter writer = new(target, 0);
        writer.WriteByte(Type);
        writer.WriteByte(Level);
        writer.WriteByte(PadLength);
        writer.WriteByte(0);
        writer.WriteUInt32(ContextId);
    }
}

/// <summary>Signs or seals the fragments of one association, once a security package agreed
/// on keys ([MS-RPCE] section 2.2.2.11 ff.). Fragments must be protected in the order
/// in which they are sent.</summary>
/// <remarks>The stub is padded to a multiple of 16 and followed by the trailer;
/// the signature is the trailer's value.</remarks>
internal abstract class PduProtection
{
    /// <summary>Package, level and context id, the same on every PDU of the association.</summary>
    public abstract AuthTrailer Trailer { get; }

    /// <summary>The length of the signatures that this side writes.</summary>
    public abstract int SignatureLength { get; }

    /// <summary>Encrypts stub and padding in place if the level requires it, and writes the
    /// signature.</summary>
    /// <param name="pdu">The whole PDU; its last
    /// <see cref="SignatureLength"/> octets are the signature's.</param>
    /// <param name="stubOffset">Where the stub begins.</param>
    public abstract void Protect(Span<byte> pdu, int stubOffset);

    /// <summary>Decrypts stub and padding in place, and checks the signature.</summary>
    /// <param name="pdu">The whole PDU.</param>
    /// <param name="stubOffset">Where the stub begins.</param>
    /// <param name="signatureLength">How many of its last octets are the peer's signature.</param>
    /// <returns>False when the signature is wrong.</returns>
    public abstract bool TryUnprotect(Span<byte> pdu, int stubOffset, int signatureLength);
}

/// <summary>A trailer that clients add to a protected request's stub. It repeats parts of the conversation
/// that the signature may not cover ([MS-RPCE] section 2.2.2.13).</summary>
internal static class VerificationTrailer
{
    /// <summary>The maximum number of octets of a trailer with the padding before it.</summary>
    public const int MaxSize = Alignment - 1 + Size;

    private const int Alignment = 4;
    private const int CommandSize = 4;
    private const int BitMaskSize = 4;
    private const int SyntaxesSize = 2 * SyntaxId.Size;
    private const int HeaderSize = 16;
    private const int Size =
        MagicSize + CommandSize + BitMaskSize + CommandSize + SyntaxesSize + CommandSize + HeaderSize;

    private const int MagicSize = 8;
    private const byte LittleEndianRepresentation = 0x10;
    private const ushort TypeMask = 0x3FFF;
    private const ushort EndMark = 0x4000;
    private const ushort MustUnderstand = 0x8000;
    private const ushort BitMask = 1;
    private const ushort Syntaxes = 2;
    private const ushort Header = 3;
    private const uint ClientSignsHeaders = 1;

    private static ReadOnlySpan<byte> Magic => [0x8A, 0xE3, 0x13, 0x71, 0x02, 0xF4, 0x36, 0x71];

    /// <summary>Writes the trailer of a request, with the padding before it.</summary>
    /// <param name="stub">The stub, and room for <see cref="MaxSize"/> octets after its arguments.</param>
    /// <param name="end">Where the arguments end.</param>
    /// <param name="callId">The call.</param>
    /// <param name="contextId">The presentation context.</param>
    /// <param name="interfaceId">The interface that the client calls.</param>
    /// <returns>The octets that were written.</returns>
    public static int Write(Span<byte> stub, int end, uint callId, ushort contextId, Guid interfaceId)
    {
        int padding = -end & (Alignment - 1);
        PduWriter writer = new(stub, end);
        writer.WriteZeros(padding);
        writer.WriteBytes(Magic);
        writer.WriteUInt16(BitMask);
        writer.WriteUInt16(BitMaskSize);
        writer.WriteUInt32(ClientSignsHeaders);
        writer.WriteUInt16(Syntaxes);
        writer.WriteUInt16(SyntaxesSize);
        writer.WriteSyntax(SyntaxId.Interface(interfaceId));
        writer.WriteSyntax(SyntaxId.Ndr);
        writer.WriteUInt16(Header | EndMark);
        writer.WriteUInt16(HeaderSize);
        writer.WriteByte((byte)PduType.Request);
        writer.WriteZeros(3);
        writer.WriteByte(LittleEndianRepresentation);
        writer.WriteZeros(3);
        writer.WriteUInt32(callId);
        writer.WriteUInt16(contextId);

        // The operation number: the interface has only operation 0.
        writer.WriteUInt16(0);
        return padding + Size;
    }

    /// <summary>Whether the trailer, if the request has one, agrees with the request that was
    /// received.</summary>
    /// <param name="octets">The octets after the arguments.</param>
    /// <param name="offset">The offset of these octets in the stub; the trailer is aligned to a multiple of
    /// 4.</param>
    /// <param name="request">The request.</param>
    /// <param name="interfaceId">The interface that it calls.</param>
    /// <param name="clientOfferedHeaderSigning">Whether the client's bind offered to sign headers when it
    /// arrived here.</param>
    public static bool Agrees(
        ReadOnlySpan<byte> octets, int offset, FragmentAssembler request, Guid interfaceId,
        bool clientOfferedHeaderSigning)
    {
        int padding = -offset & (Alignment - 1);
        if (octets.Length < padding || !octets[padding..].StartsWith(Magic))
        {
            // Padding that the sender did not count in the trailer. It is signed, but its content does not
            // matter.
            return true;
        }

        PduReader reader = new(octets, request.LittleEndian, padding + Magic.Length);
        while (true)
        {
            ushort command = reader.ReadUInt16();
            ReadOnlySpan<byte> value = reader.Take(reader.ReadUInt16());
            if (reader.Failed || !Agrees(command, value, request, interfaceId, clientOfferedHeaderSigning))
            {
                return false;
            }

            if ((command & EndMark) != 0)
            {
                return true;
            }
        }
    }

    private static bool Agrees(
        ushort command, ReadOnlySpan<byte> value, FragmentAssembler request, Guid interfaceId,
        bool clientOfferedHeaderSigning)
    {
        PduReader reader = new(value, request.LittleEndian);
        switch (command & TypeMask)
        {
            case BitMask:
                // The client supports header signing, but the bind did not offer it: an attacker changed the
                // bind.
                uint bits = reader.ReadUInt32();
                return reader.AtEnd && ((bits & ClientSignsHeaders) == 0 || clientOfferedHeaderSigning);
            case Syntaxes:
                return reader.ReadSyntax() == SyntaxId.Interface(interfaceId)
                    && reader.ReadSyntax() == SyntaxId.Ndr
                    && reader.AtEnd;
            case Header:
                byte type = reader.ReadByte();
                reader.Skip(3);
                ReadOnlySpan<byte> representation = reader.Take(4);
                return type == (byte)PduType.Request
                    && reader.ReadUInt32() == request.CallId
                    && reader.ReadUInt16() == request.ContextId
                    && reader.ReadUInt16() == request.Operation
                    && reader.AtEnd
                    && representation[0] >> 4 == (request.LittleEndian ? 1 : 0);
            default:
                return (command & MustUnderstand) == 0;
        }
    }
}
