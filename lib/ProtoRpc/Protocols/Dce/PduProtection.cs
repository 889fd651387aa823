namespace ProtoRpc.Protocols.Dce;

/// <summary>Signs or seals the fragments of one association, once a security package agreed
/// on keys ([MS-RPCE] section 2.2.2.11 ff.). Fragments must be protected in the order
/// in which they are sent.</summary>
/// <remarks>The stub is padded to a multiple of 16 and followed by the trailer;
/// the signature is the trailer's value.</remarks>
internal abstract class PduProtection
{
    /// <summary>Package, level and context id, the same on every PDU of the association.</summary>
    public abstract AuthTrailer Trailer { get; }

    /// <summary>Octets of a signature that this side makes.</summary>
    public abstract int SignatureLength { get; }

    /// <summary>Encrypts stub and padding in place where the level wants it,
    /// and writes the signature.</summary>
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
