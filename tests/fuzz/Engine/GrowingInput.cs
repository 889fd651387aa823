namespace ProtoRpc.Fuzz.Engine;

/// <summary>A shape of input that is known to be nasty.</summary>
/// <param name="Name">What it is made of.</param>
/// <param name="Make">The input of a number of pieces.</param>
/// <param name="Pieces">How many pieces take some milliseconds to read.</param>
internal sealed record GrowingInput(string Name, Func<int, byte[]> Make, int Pieces = 4096)
{
    /// <summary>A piece, many times.</summary>
    public static byte[] Repeat(ReadOnlySpan<byte> piece, int count)
    {
        byte[] bytes = new byte[piece.Length * count];
        for (int i = 0; i < count; i++)
        {
            piece.CopyTo(bytes.AsSpan(i * piece.Length));
        }

        return bytes;
    }
}
