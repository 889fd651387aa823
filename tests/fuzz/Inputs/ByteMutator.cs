using System.Buffers.Binary;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes bytes that mean nothing to it: bits, numbers at their edges, pieces.</summary>
internal sealed class ByteMutator : IMutator
{
    private static readonly uint[] Edges =
    [
        0, 1, 2, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x00FFFFFF, 0x7FFFFFFF,
        0x80000000, 0xFFFFFFFE, 0xFFFFFFFF,
    ];

    public static ByteMutator Instance { get; } = new();

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        // Headers are changed more often than what follows, for that is where decisions are made.
        int at = random.Next(2) == 0 ? random.Next(Math.Min(input.Length, 32) + 1)
            : random.Next(input.Length + 1);
        int count = Math.Min(random.Next(1, random.Next(2) == 0 ? 5 : 65), input.Length - at);
        switch (random.Next(9))
        {
            case 0 when at < input.Length:
                return With(input, at, [(byte)(input[at] ^ (1 << random.Next(8)))]);
            case 1 when at < input.Length:
                return With(input, at, [(byte)random.Next(256)]);
            case 2:
                return With(input, at, Number(random));
            case 3 when at < input.Length:
                return With(input, at, [(byte)(input[at] + random.Next(-3, 4))]);
            case 4:
                return [.. input.AsSpan(0, at), .. input.AsSpan(at + count)];
            case 5:
                byte[] more = new byte[random.Next(1, 17)];
                random.NextBytes(more);
                return [.. input.AsSpan(0, at), .. more, .. input.AsSpan(at)];
            case 6:
                return [.. input.AsSpan(0, at + count), .. input.AsSpan(at)];
            case 7 when others.Count > 0:
                byte[] other = others[random.Next(others.Count)];
                int from = random.Next(other.Length + 1);
                return [.. input.AsSpan(0, at), .. other.AsSpan(from)];
            default:
                return input[..at];
        }
    }

    private static byte[] With(byte[] input, int at, ReadOnlySpan<byte> bytes)
    {
        byte[] changed = [.. input];
        bytes[..Math.Min(bytes.Length, changed.Length - at)].CopyTo(changed.AsSpan(at));
        return changed;
    }

    private static byte[] Number(Random random)
    {
        byte[] bytes = new byte[1 << random.Next(3)];
        uint value = Edges[random.Next(Edges.Length)];
        if (bytes.Length == 1)
        {
            bytes[0] = (byte)value;
        }
        else if (bytes.Length == 2)
        {
            BinaryPrimitives.WriteUInt16LittleEndian(bytes, (ushort)value);
        }
        else
        {
            BinaryPrimitives.WriteUInt32LittleEndian(bytes, value);
        }

        if (random.Next(2) == 0)
        {
            bytes.AsSpan().Reverse();
        }

        return bytes;
    }
}
