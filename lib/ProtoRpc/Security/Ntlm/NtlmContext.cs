using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>What client and server have in common once they share a key.</summary>
internal abstract class NtlmContext : SecurityContext
{
    /// <summary>The name of the mechanism.</summary>
    public const string Name = "NTLM";

    private NtlmDirection? _sending;
    private NtlmDirection? _receiving;
    private NtlmFlags _flags;

    /// <inheritdoc/>
    public override string AuthenticationType => Name;

    /// <inheritdoc/>
    public override bool IsComplete => _sending is not null;

    /// <inheritdoc/>
    public override bool Supports(RpcProtectionLevel level) => level switch
    {
        <= RpcProtectionLevel.Connect => true,
        RpcProtectionLevel.Privacy => _flags.HasFlag(NtlmFlags.Sign | NtlmFlags.Seal),
        _ => _flags.HasFlag(NtlmFlags.Sign),
    };

    /// <inheritdoc/>
    public override int SignatureSize(bool encrypted) => NtlmDirection.SignatureSize;

    // With extended session security the signature covers the whole PDU, whether that was agreed on or not:
    // it is how the peers of NTLMv2 do it ([MS-NLMP] section 3.4.6.1).

    /// <inheritdoc/>
    public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature) =>
        Sending.Protect(pdu, encrypt ? pdu[data] : default, signature);

    /// <inheritdoc/>
    public override bool Unprotect(
        Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature) =>
        Receiving.Unprotect(pdu, encrypted ? pdu[data] : default, signature);

    /// <inheritdoc/>
    public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms)
    {
        byte[] signature = new byte[NtlmDirection.SignatureSize];
        Sending.Protect(mechanisms, default, signature);
        Sending.Rekey();
        return signature;
    }

    /// <inheritdoc/>
    public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code)
    {
        bool verified = Receiving.Unprotect(mechanisms, default, code);
        Receiving.Rekey();
        return verified;
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        _sending?.Dispose();
        _receiving?.Dispose();
    }

    /// <summary>Makes the keys of both directions, which completes the context.</summary>
    protected void BeginSession(byte[] sessionKey, NtlmFlags flags, bool isServer)
    {
        bool exchanged = flags.HasFlag(NtlmFlags.KeyExchange);
        _flags = flags;
        _sending = new NtlmDirection(sessionKey, fromServer: isServer, exchanged);
        _receiving = new NtlmDirection(sessionKey, fromServer: !isServer, exchanged);
        CryptographicOperations.ZeroMemory(sessionKey);
    }

    private NtlmDirection Sending => _sending ?? throw NotComplete();

    private NtlmDirection Receiving => _receiving ?? throw NotComplete();

    private static InvalidOperationException NotComplete() => new("The authentication is not complete.");
}
