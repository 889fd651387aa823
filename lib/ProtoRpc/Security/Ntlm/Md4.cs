using System.Buffers.Binary;
using System.Numerics;
using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>MD4 (RFC 1320), which .NET does not have and NT hashes are made with. It protects nothing today:
/// it is here for peers that know no better.</summary>
internal static class Md4
{
    private const int BlockSize = 64;
    private const int LengthSize = 8;

    // The constants of the second and third round: the square roots of 2 and 3.
    private const uint RootOfTwo = 0x5A827999;
    private const uint RootOfThree = 0x6ED9EBA1;

    private static ReadOnlySpan<byte> ThirdRoundOrder =>
        [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

    /// <summary>Hashes bytes.</summary>
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

        // What was hashed is a password.
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

        // Each step makes a new a and the four words change places.
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
