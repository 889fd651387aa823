using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The one-way functions and keys of NTLMv2 ([MS-NLMP] sections 3.3.2 and 3.4.5).</summary>
internal static class NtlmCrypto
{
    /// <summary>Octets of every key and hash.</summary>
    public const int KeySize = 16;

    /// <summary>The hash of a password, which is as good as the password.</summary>
    public static byte[] NtHash(ReadOnlySpan<char> password)
    {
        byte[] hash = new byte[KeySize];
        if (BitConverter.IsLittleEndian)
        {
            Md4.Hash(MemoryMarshal.AsBytes(password), hash);
            return hash;
        }

        byte[] text = new byte[Encoding.Unicode.GetByteCount(password)];
        Encoding.Unicode.GetBytes(password, text);
        Md4.Hash(text, hash);
        CryptographicOperations.ZeroMemory(text);
        return hash;
    }

    /// <summary>The key of a user's responses.</summary>
    public static byte[] ResponseKey(ReadOnlySpan<byte> ntHash, string user, string domain) =>
        HMACMD5.HashData(ntHash, Encoding.Unicode.GetBytes(user.ToUpperInvariant() + domain));

    /// <summary>What proves that somebody has the key: a code over the server's challenge and more.</summary>
    public static byte[] Proof(
        ReadOnlySpan<byte> responseKey, ReadOnlySpan<byte> serverChallenge, ReadOnlySpan<byte> rest) =>
        Mac(responseKey, serverChallenge, rest);

    /// <summary>The key that both sides then share.</summary>
    public static byte[] SessionBaseKey(ReadOnlySpan<byte> responseKey, ReadOnlySpan<byte> proof) =>
        HMACMD5.HashData(responseKey, proof);

    /// <summary>The integrity code over the three messages, the last with zeros in its place.</summary>
    public static byte[] MessageIntegrityCode(
        ReadOnlySpan<byte> sessionKey, ReadOnlySpan<byte> negotiate, ReadOnlySpan<byte> challenge,
        ReadOnlySpan<byte> authenticate) => Mac(sessionKey, negotiate, challenge, authenticate);

    /// <summary>A signing key of one direction.</summary>
    public static byte[] SigningKey(ReadOnlySpan<byte> sessionKey, bool ofServer) =>
        Derive(sessionKey, ofServer
            ? "session key to server-to-client signing key magic constant\0"u8
            : "session key to client-to-server signing key magic constant\0"u8);

    /// <summary>A sealing key of one direction, 128 bits.</summary>
    public static byte[] SealingKey(ReadOnlySpan<byte> sessionKey, bool ofServer) =>
        Derive(sessionKey, ofServer
            ? "session key to server-to-client sealing key magic constant\0"u8
            : "session key to client-to-server sealing key magic constant\0"u8);

    /// <summary>The hash of a channel binding ([MS-NLMP] section 2.2.2.1): MD5 over the structure of
    /// RFC 2744 section 3.11, with no addresses and this application data.</summary>
    public static byte[] BindingHash(ReadOnlySpan<byte> applicationData)
    {
        // Kind and length of the initiator's address and of the acceptor's.
        const int Addresses = 16;
        byte[] bindings = new byte[Addresses + sizeof(int) + applicationData.Length];
        BinaryPrimitives.WriteInt32LittleEndian(bindings.AsSpan(Addresses), applicationData.Length);
        applicationData.CopyTo(bindings.AsSpan(Addresses + sizeof(int)));
        return MD5.HashData(bindings);
    }

    private static byte[] Mac(
        ReadOnlySpan<byte> key,
        ReadOnlySpan<byte> first,
        ReadOnlySpan<byte> second,
        ReadOnlySpan<byte> third = default)
    {
        using IncrementalHash mac = IncrementalHash.CreateHMAC(HashAlgorithmName.MD5, key);
        mac.AppendData(first);
        mac.AppendData(second);
        mac.AppendData(third);
        return mac.GetHashAndReset();
    }

    private static byte[] Derive(ReadOnlySpan<byte> sessionKey, ReadOnlySpan<byte> purpose)
    {
        Span<byte> input = stackalloc byte[KeySize + purpose.Length];
        sessionKey.CopyTo(input);
        purpose.CopyTo(input[KeySize..]);
        byte[] key = MD5.HashData(input);
        CryptographicOperations.ZeroMemory(input);
        return key;
    }
}
