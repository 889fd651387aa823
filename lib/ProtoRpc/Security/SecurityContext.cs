using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>One side of one authentication: tokens until both sides agree,
/// then signatures and encryption.</summary>
/// <remarks>Knows nothing of the PDUs that carry it. Messages of one direction are protected in the order in
/// which they are sent. Not thread-safe.</remarks>
internal abstract class SecurityContext : IDisposable
{
    /// <summary>The mechanism of the caller: NTLM or Kerberos, even if it was negotiated.</summary>
    public abstract string AuthenticationType { get; }

    /// <summary>Whether this side has all that it needs; its last token may still have to be sent.</summary>
    public abstract bool IsComplete { get; }

    /// <summary>On a server that is complete, who the client is.</summary>
    public abstract IIdentity Identity { get; }

    /// <summary>Whether both sides agreed that signatures cover the
    /// header and trailer of a PDU too.</summary>
    public bool SignsHeaders { get; set; }

    /// <summary>Takes the peer's token and makes the next one.</summary>
    /// <param name="token">Empty for a client's first step.</param>
    /// <returns>The token to send, empty when there is none.</returns>
    /// <exception cref="RpcException">Unauthenticated: the token is malformed, or proves nothing. The context
    /// is then of no more use.</exception>
    public abstract byte[] Step(ReadOnlySpan<byte> token);

    /// <summary>Whether calls can be protected like that with what was agreed on.</summary>
    public abstract bool Supports(RpcProtectionLevel level);

    /// <summary>Octets of a signature.</summary>
    /// <param name="encrypted">Whether it stands beside encrypted data.</param>
    public abstract int SignatureSize(bool encrypted);

    /// <summary>Signs a PDU and encrypts its data in place.</summary>
    /// <param name="pdu">The PDU but for the signature.</param>
    /// <param name="data">Where stub and padding are in it.</param>
    /// <param name="encrypt">Whether to encrypt them.</param>
    /// <param name="signature">Where the signature goes.</param>
    public abstract void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature);

    /// <summary>Decrypts the data of a PDU in place and checks the signature.</summary>
    /// <returns>False when it is not the next PDU as the peer made it; nothing may be used then.</returns>
    public abstract bool Unprotect(Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature);

    /// <summary>The code with which a negotiation proves that its list
    /// of mechanisms came unchanged.</summary>
    public abstract byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms);

    /// <summary>Checks the peer's code over the list of mechanisms.</summary>
    public abstract bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code);

    /// <summary>Forgets the keys.</summary>
    public abstract void Dispose();
}
