using System.Security.Principal;

namespace ProtoRpc.Security.Spnego;

/// <summary>What client and server have in common: the mechanism that was agreed on does the work.</summary>
internal abstract class SpnegoContext : SecurityContext
{
    /// <summary>The name of the mechanism.</summary>
    public const string Name = "Negotiate";

    /// <summary>The list that the client sent, as it was on the wire.</summary>
    protected ReadOnlyMemory<byte> MechanismList { get; set; }

    /// <summary>The chosen mechanism, once there is one.</summary>
    protected SecurityContext? Inner { get; set; }

    /// <inheritdoc/>
    public override string AuthenticationType => Inner?.AuthenticationType ?? Name;

    /// <inheritdoc/>
    public override IIdentity Identity => Chosen.Identity;

    /// <inheritdoc/>
    public override bool Supports(RpcProtectionLevel level) => Inner?.Supports(level) ?? false;

    /// <inheritdoc/>
    public override int SignatureSize(bool encrypted) => Chosen.SignatureSize(encrypted);

    /// <inheritdoc/>
    public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature)
    {
        Chosen.SignsHeaders = SignsHeaders;
        Chosen.Protect(pdu, data, encrypt, signature);
    }

    /// <inheritdoc/>
    public override bool Unprotect(Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature)
    {
        Chosen.SignsHeaders = SignsHeaders;
        return Chosen.Unprotect(pdu, data, encrypted, signature);
    }

    /// <inheritdoc/>
    public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms) =>
        Chosen.SignNegotiation(mechanisms);

    /// <inheritdoc/>
    public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code) =>
        Chosen.VerifyNegotiation(mechanisms, code);

    /// <inheritdoc/>
    public override void Dispose() => Inner?.Dispose();

    /// <summary>Checks the other side's code over the list.</summary>
    protected void VerifyList(byte[] code)
    {
        if (!Chosen.IsComplete || !Chosen.VerifyNegotiation(MechanismList.Span, code))
        {
            throw SecurityErrors.Refused(Name, "the list of mechanisms was changed in transit");
        }
    }

    private SecurityContext Chosen =>
        Inner ?? throw new InvalidOperationException("No mechanism has been selected yet.");
}
