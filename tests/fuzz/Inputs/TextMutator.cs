using System.Text;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Changes texts by pieces that mean something in a language.</summary>
/// <param name="tokens">What the language is made of.</param>
internal sealed class TextMutator(params string[] tokens) : IMutator
{
    private static readonly string[] Common =
    [
        "\0", "\u0001", "\u001b[31m", "\u202e", "\ufeff", "\ufffd", "\u2028", "é", "漢", "😀", "\r\n",
        "\t", " ", "-", "0", "1", "9999999999999999999999", "1e400", "-1e-400", "0x", "NaN", "Infinity",
        "true", "false", "null", "\"", "'", "\\", "/", "%", "%00", "%zz", "&", "=", ".", "..", ":", ";", ",",
        "@", "#", "?", "*",
    ];

    // Not UTF-8, or not the shortest form of it.
    private static readonly byte[][] BadTexts =
        [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0x80]];

    private readonly byte[][] _tokens = [
        .. tokens.Concat(Common).Select(Encoding.UTF8.GetBytes), .. BadTexts];

    public byte[] Change(Random random, byte[] input, IReadOnlyList<byte[]> others)
    {
        int at = random.Next(input.Length + 1);
        switch (random.Next(5))
        {
            case 0:
                return [.. input.AsSpan(0, at), .. Token(random), .. input.AsSpan(at)];
            case 1:
                int end = Math.Min(input.Length, at + random.Next(1, 9));
                return [.. input.AsSpan(0, at), .. Token(random), .. input.AsSpan(end)];
            case 2:
                // A token again and again: depth, and long names.
                byte[] token = Token(random);
                int times = random.Next(1, random.Next(8) == 0 ? 300 : 8);
                return
                [
                    .. input.AsSpan(0, at), .. Enumerable.Repeat(token, times).SelectMany(t => t),
                    .. input.AsSpan(at),
                ];
            default:
                return ByteMutator.Instance.Change(random, input, others);
        }
    }

    private byte[] Token(Random random) => _tokens[random.Next(_tokens.Length)];
}
