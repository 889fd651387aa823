using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.InteropServices;
using System.Security.Cryptography;

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

    /// <summary>The proof of having the key: a code over the server's challenge and further data.</summary>
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
        // Type and length of the initiator's address and of the acceptor's, all zero.
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

/// <summary>The NTLMv2 response: a proof, and the client's challenge that it
/// covers ([MS-NLMP] section 2.2.2.8).</summary>
internal sealed class NtlmV2Response
{
    /// <summary>Octets of the proof.</summary>
    public const int ProofSize = 16;

    /// <summary>The length of an NTLMv1 response, which is rejected.</summary>
    public const int NtlmV1Size = 24;

    private const byte Version = 1;
    private const int TimeOffset = 8;
    private const int ClientChallengeOffset = TimeOffset + 8;
    private const int PairsOffset = ClientChallengeOffset + ChallengeMessage.ChallengeSize + 4;

    // All implementations send four zero octets after the list.
    private const int EndSize = 4;

    private NtlmV2Response(byte[] proof, byte[] blob, AvPairs pairs)
    {
        Proof = proof;
        Blob = blob;
        Pairs = pairs;
    }

    /// <summary>The proof.</summary>
    public byte[] Proof { get; }

    /// <summary>The data that the proof covers, in addition to the server's challenge.</summary>
    public byte[] Blob { get; }

    /// <summary>The additional data of the client.</summary>
    public AvPairs Pairs { get; }

    /// <summary>When the client replied: by its clock, or by the server's if the challenge contained the
    /// time.</summary>
    public DateTimeOffset Time =>
        NtlmTime.ToDateTime(BinaryPrimitives.ReadInt64LittleEndian(Blob.AsSpan(TimeOffset)));

    /// <summary>Reads a response.</summary>
    /// <returns>Null if it is not an NTLMv2 response.</returns>
    public static NtlmV2Response? Read(ReadOnlySpan<byte> response)
    {
        if (response.Length < ProofSize + PairsOffset)
        {
            return null;
        }

        ReadOnlySpan<byte> blob = response[ProofSize..];
        return blob[0] == Version && blob[1] == Version && AvPairs.Read(blob[PairsOffset..]) is { } pairs
            ? new NtlmV2Response(response[..ProofSize].ToArray(), blob.ToArray(), pairs)
            : null;
    }

    /// <summary>Makes the part that the proof covers.</summary>
    public static byte[] MakeBlob(DateTimeOffset time, ReadOnlySpan<byte> clientChallenge, AvPairs pairs)
    {
        byte[] list = pairs.ToBytes();
        byte[] blob = new byte[PairsOffset + list.Length + EndSize];
        blob[0] = blob[1] = Version;
        BinaryPrimitives.WriteInt64LittleEndian(blob.AsSpan(TimeOffset), NtlmTime.FromDateTime(time));
        clientChallenge.CopyTo(blob.AsSpan(ClientChallengeOffset));
        list.CopyTo(blob, PairsOffset);
        return blob;
    }
}

/// <summary>MD4 (RFC 1320), which NT hashes use and .NET does not provide. MD4 is broken: it is only for
/// peers without a better mechanism.</summary>
internal static class Md4
{
    private const int BlockSize = 64;
    private const int LengthSize = 8;

    // The constants of the second and third round: the square roots of 2 and 3.
    private const uint RootOfTwo = 0x5A827999;
    private const uint RootOfThree = 0x6ED9EBA1;

    private static ReadOnlySpan<byte> ThirdRoundOrder =>
        [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

    public static void Hash(ReadOnlySpan<byte> data, Span<byte> hash)
    {
        Span<uint> state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476];
        int whole = data.Length & -BlockSize;
        for (int offset = 0; offset < whole; offset += BlockSize)
        {
            AddBlock(state, data.Slice(offset, BlockSize));
        }

        Span<byte> tail = stackalloc byte[2 * BlockSize];
        ReadOnlySpan<byte> rest = data[whole..];
        rest.CopyTo(tail);
        tail[rest.Length..].Clear();
        tail[rest.Length] = 0x80;
        int tailLength = rest.Length + 1 + LengthSize <= BlockSize ? BlockSize : 2 * BlockSize;
        BinaryPrimitives.WriteUInt64LittleEndian(tail[(tailLength - LengthSize)..], (ulong)data.Length * 8);
        for (int offset = 0; offset < tailLength; offset += BlockSize)
        {
            AddBlock(state, tail.Slice(offset, BlockSize));
        }

        for (int i = 0; i < state.Length; i++)
        {
            BinaryPrimitives.WriteUInt32LittleEndian(hash[(4 * i)..], state[i]);
        }

        // The buffer contains a part of a password.
        CryptographicOperations.ZeroMemory(tail);
    }

    private static void AddBlock(Span<uint> state, ReadOnlySpan<byte> block)
    {
        Span<uint> words = stackalloc uint[16];
        for (int i = 0; i < words.Length; i++)
        {
            words[i] = BinaryPrimitives.ReadUInt32LittleEndian(block[(4 * i)..]);
        }

        uint a = state[0];
        uint b = state[1];
        uint c = state[2];
        uint d = state[3];

        // Each step calculates a new a, and rotates the four words.
        for (int i = 0; i < 48; i++)
        {
            int step = i & 15;
            (uint mixed, int rotation) = (i >> 4) switch
            {
                0 => (((b & c) | (~b & d)) + words[step], Rotation(i, 3, 7, 11, 19)),
                1 => (((b & c) | (b & d) | (c & d)) + words[(step >> 2) | ((step & 3) << 2)] + RootOfTwo,
                    Rotation(i, 3, 5, 9, 13)),
                _ => ((b ^ c ^ d) + words[ThirdRoundOrder[step]] + RootOfThree, Rotation(i, 3, 9, 11, 15)),
            };
            (a, b, c, d) = (d, BitOperations.RotateLeft(a + mixed, rotation), b, c);
        }

        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        words.Clear();
    }

    private static int Rotation(int step, int first, int second, int third, int fourth) => (step & 3) switch
    {
        0 => first,
        1 => second,
        2 => third,
        _ => fourth,
    };
}

/// <summary>The RC4 stream cipher, which NTLM uses for sealing and .NET does not provide. RC4 is broken: it
/// is only for peers without a better mechanism.</summary>
/// <remarks>One stream of one direction. Not thread-safe.</remarks>
internal sealed class Rc4 : IDisposable
{
    private readonly byte[] _state = new byte[256];
    private byte _i;
    private byte _j;

    public Rc4(ReadOnlySpan<byte> key) => Rekey(key);

    /// <summary>Encrypts or decrypts with a new key stream.</summary>
    public static void Transform(ReadOnlySpan<byte> key, ReadOnlySpan<byte> source, Span<byte> target)
    {
        using Rc4 stream = new(key);
        stream.Transform(source, target);
    }

    /// <summary>Restarts the stream with a key.</summary>
    public void Rekey(ReadOnlySpan<byte> key)
    {
        for (int i = 0; i < _state.Length; i++)
        {
            _state[i] = (byte)i;
        }

        byte j = 0;
        for (int i = 0; i < _state.Length; i++)
        {
            j = (byte)(j + _state[i] + key[i % key.Length]);
            (_state[i], _state[j]) = (_state[j], _state[i]);
        }

        _i = _j = 0;
    }

    /// <summary>Encrypts or decrypts the next bytes; both spans may be the same.</summary>
    public void Transform(ReadOnlySpan<byte> source, Span<byte> target)
    {
        byte[] state = _state;
        byte i = _i;
        byte j = _j;
        target = target[..source.Length];
        for (int k = 0; k < source.Length; k++)
        {
            byte x = state[++i];
            j += x;
            byte y = state[j];
            state[i] = y;
            state[j] = x;
            target[k] = (byte)(source[k] ^ state[(byte)(x + y)]);
        }

        _i = i;
        _j = j;
    }

    /// <summary>Erases the key.</summary>
    public void Dispose() => CryptographicOperations.ZeroMemory(_state);
}
