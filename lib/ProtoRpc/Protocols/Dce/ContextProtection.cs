using ProtoRpc.Security;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Protects calls with the keys of an authentication.</summary>
internal sealed class ContextProtection(SecurityContext context, AuthTrailer trailer) : PduProtection
{
    private readonly bool _encrypts = trailer.Level == (byte)RpcProtectionLevel.Privacy;

    /// <inheritdoc/>
    public override AuthTrailer Trailer { get; } = trailer with { PadLength = 0 };

    /// <inheritdoc/>
    public override int SignatureLength { get; } =
        context.SignatureSize(trailer.Level == (byte)RpcProtectionLevel.Privacy);

    /// <summary>What a level asks for; null where calls are not protected.</summary>
    public static ContextProtection? Of(SecurityContext context, AuthTrailer trailer) =>
        trailer.Level > (byte)RpcProtectionLevel.Connect ? new ContextProtection(context, trailer) : null;

    /// <inheritdoc/>
    public override void Protect(Span<byte> pdu, int stubOffset)
    {
        int end = pdu.Length - SignatureLength;
        context.Protect(pdu[..end], stubOffset..(end - AuthTrailer.Size), _encrypts, pdu[end..]);
    }

    /// <inheritdoc/>
    public override bool TryUnprotect(Span<byte> pdu, int stubOffset, int signatureLength)
    {
        int end = pdu.Length - signatureLength;
        return context.Unprotect(pdu[..end], stubOffset..(end - AuthTrailer.Size), _encrypts, pdu[end..]);
    }
}
