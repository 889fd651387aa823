using System.Text;
using ProtoRpc.Tests.Messages;

namespace ProtoRpc.Tests.Formats;

/// <summary>What a read of hostile text allocates: twice the text takes twice the memory at most, and few
/// bytes for each byte. Allocations are counted, so that other work of the machine does not
/// matter.</summary>
internal static class ReadMemory
{
    private const int Pieces = 50_000;

    // A collection empties the pools of arrays, so one read may allocate what the next one finds there. The
    // small text is read twice to fill them.
    private const int FirstRounds = 2;
    private const int Rounds = 3;
    private const int Free = 64 * 1024;
    private const double MostTimes = 2.3;

    private static readonly FormatOptions[] Options =
    [
        new() { MaxFormFields = int.MaxValue },
        new() { MaxFormFields = int.MaxValue, IgnoreUnknownFields = true },
    ];

    /// <summary>Reads a shape of text, and twice as much of it.</summary>
    /// <param name="format">The format.</param>
    /// <param name="type">The type of the message.</param>
    /// <param name="shape">What begins the text, a piece of it (# is its number), and what ends it.</param>
    /// <param name="most">The most bytes for a byte of text.</param>
    public static void RequireLinear(
        MessageFormat format, string type, (string Before, string Piece, string After) shape, int most)
    {
        byte[] text = Text(shape, Pieces);
        byte[] twice = Text(shape, 2 * Pieces);
        foreach (FormatOptions options in Options)
        {
            // The first read makes the layout of the type.
            Allocated(format, type, Text(shape, 1), options);

            long one = Enumerable.Range(0, FirstRounds).Min(_ => Allocated(format, type, text, options));
            long other = Allocated(format, type, twice, options);
            for (int i = 1; i < Rounds && !(IsTwice(one, other) && IsSmall(other)); i++)
            {
                one = Math.Min(one, Allocated(format, type, text, options));
                other = Math.Min(other, Allocated(format, type, twice, options));
            }

            Assert.True(
                IsTwice(one, other),
                $"{text.Length} bytes take {one}, {twice.Length} bytes {other}");
            Assert.True(IsSmall(other), $"{twice.Length} bytes take {other}");
        }

        bool IsSmall(long other) => other <= Free + ((long)most * twice.Length);

        static bool IsTwice(long one, long other) => other <= Free || other <= MostTimes * one;
    }

    private static byte[] Text((string Before, string Piece, string After) shape, int pieces)
    {
        StringBuilder text = new(shape.Before);
        for (int i = 0; i < pieces; i++)
        {
            text.Append(
                shape.Piece.Contains('#') ? shape.Piece.Replace("#", $"{i}", StringComparison.Ordinal)
                : shape.Piece);
        }

        return Encoding.UTF8.GetBytes(text.Append(shape.After).ToString());
    }

    private static long Allocated(MessageFormat format, string type, byte[] text, FormatOptions options)
    {
        RpcMessageInfo info = TestMessages.Type($"proto3.{type}");
        long before = GC.GetAllocatedBytesForCurrentThread();
        try
        {
            format.Read(info, text.AsMemory(), options);
        }
        catch (RpcException)
        {
            // Many of them are no message.
        }

        return GC.GetAllocatedBytesForCurrentThread() - before;
    }
}
