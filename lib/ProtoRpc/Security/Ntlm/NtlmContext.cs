using System.Buffers.Binary;
using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The common part of client and server, after they share a key.</summary>
internal abstract class NtlmContext : SecurityContext
{
    /// <summary>The name of the mechanism.</summary>
    public const string Name = "NTLM";

    private NtlmDirection? _sending;
    private NtlmDirection? _receiving;
    private NtlmFlags _flags;

    public override string AuthenticationType => Name;

    public override bool IsComplete => _sending is not null;

    public override bool Supports(RpcProtectionLevel level) => level switch
    {
        <= RpcProtectionLevel.Connect => true,
        RpcProtectionLevel.Privacy => _flags.HasFlag(NtlmFlags.Sign | NtlmFlags.Seal),
        _ => _flags.HasFlag(NtlmFlags.Sign),
    };

    public override int SignatureSize(bool encrypted) => NtlmDirection.SignatureSize;

    // With extended session security, the signature always covers the whole PDU, even if header signing was
    // not negotiated: other NTLMv2 implementations do the same ([MS-NLMP] section 3.4.6.1).

    public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature) =>
        Sending.Protect(pdu, encrypt ? pdu[data] : default, signature);

    public override bool Unprotect(
        Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature) =>
        Receiving.Unprotect(pdu, encrypted ? pdu[data] : default, signature);

    public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms)
    {
        byte[] signature = new byte[NtlmDirection.SignatureSize];
        Sending.Protect(mechanisms, default, signature);
        Sending.Rekey();
        return signature;
    }

    public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code)
    {
        bool verified = Receiving.Unprotect(mechanisms, default, code);
        Receiving.Rekey();
        return verified;
    }

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

/// <summary>Signs and seals the messages of one direction ([MS-NLMP] section 3.4), each with its own keys,
/// stream and counter.</summary>
/// <remarks>Not thread-safe: messages are numbered in the order in which they are processed.</remarks>
internal sealed class NtlmDirection : IDisposable
{
    /// <summary>Octets of a signature: version, checksum, sequence number.</summary>
    public const int SignatureSize = 16;

    private const uint SignatureVersion = 1;
    private const int ChecksumOffset = 4;
    private const int ChecksumSize = 8;
    private const int SequenceOffset = ChecksumOffset + ChecksumSize;

    private readonly IncrementalHash _mac;
    private readonly byte[] _sealingKey;
    private readonly Rc4 _stream;
    private readonly bool _encryptsChecksum;
    private uint _sequence;

    /// <param name="sessionKey">The exported session key.</param>
    /// <param name="fromServer">Which way.</param>
    /// <param name="encryptsChecksum">Whether keys were exchanged.</param>
    public NtlmDirection(ReadOnlySpan<byte> sessionKey, bool fromServer, bool encryptsChecksum)
    {
        byte[] signingKey = NtlmCrypto.SigningKey(sessionKey, fromServer);
        _mac = IncrementalHash.CreateHMAC(HashAlgorithmName.MD5, signingKey);
        CryptographicOperations.ZeroMemory(signingKey);
        _sealingKey = NtlmCrypto.SealingKey(sessionKey, fromServer);
        _stream = new Rc4(_sealingKey);
        _encryptsChecksum = encryptsChecksum;
    }

    /// <summary>Signs a message and encrypts a part of it in place.</summary>
    /// <param name="message">Everything that the signature covers, in plain text.</param>
    /// <param name="secret">The part to encrypt; may be empty.</param>
    /// <param name="signature">Receives the signature.</param>
    public void Protect(ReadOnlySpan<byte> message, Span<byte> secret, Span<byte> signature)
    {
        WriteChecksum(message, signature);
        _stream.Transform(secret, secret);
        if (_encryptsChecksum)
        {
            Span<byte> checksum = signature.Slice(ChecksumOffset, ChecksumSize);
            _stream.Transform(checksum, checksum);
        }

        _sequence++;
    }

    /// <summary>Decrypts a part of a message in place, and checks the signature over all of it.</summary>
    /// <returns>False if the message is not the sender's next one, or was changed; it must not be used
    /// then.</returns>
    public bool Unprotect(ReadOnlySpan<byte> message, Span<byte> secret, ReadOnlySpan<byte> signature)
    {
        if (signature.Length != SignatureSize)
        {
            return false;
        }

        _stream.Transform(secret, secret);
        Span<byte> expected = stackalloc byte[SignatureSize];
        WriteChecksum(message, expected);
        if (_encryptsChecksum)
        {
            Span<byte> checksum = expected.Slice(ChecksumOffset, ChecksumSize);
            _stream.Transform(checksum, checksum);
        }

        _sequence++;
        return CryptographicOperations.FixedTimeEquals(expected, signature);
    }

    /// <summary>Restarts the stream and keeps the counter, as after the signature of a negotiation ([MS-SPNG]
    /// section 3.3.5.1).</summary>
    public void Rekey() => _stream.Rekey(_sealingKey);

    /// <summary>Erases the keys.</summary>
    public void Dispose()
    {
        _mac.Dispose();
        _stream.Dispose();
        CryptographicOperations.ZeroMemory(_sealingKey);
    }

    private void WriteChecksum(ReadOnlySpan<byte> message, Span<byte> signature)
    {
        Span<byte> sequence = signature[SequenceOffset..];
        BinaryPrimitives.WriteUInt32LittleEndian(signature, SignatureVersion);
        BinaryPrimitives.WriteUInt32LittleEndian(sequence, _sequence);
        Span<byte> hash = stackalloc byte[NtlmCrypto.KeySize];
        _mac.AppendData(sequence[..4]);
        _mac.AppendData(message);
        _mac.GetHashAndReset(hash);
        hash[..ChecksumSize].CopyTo(signature[ChecksumOffset..]);
    }
}
