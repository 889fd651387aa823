using System.Buffers;

namespace ProtoRpc.Formats;

/// <summary>Where in a text an offset is.</summary>
internal static class TextPosition
{
    /// <summary><c>line 3, column 12</c>, both from 1; columns count bytes.</summary>
    public static string Of(in ReadOnlySequence<byte> text, long offset, TextOrigin origin = default)
    {
        long line = 0;
        long column = 0;
        foreach (ReadOnlyMemory<byte> piece in text.Slice(0, Math.Min(offset, text.Length)))
        {
            int lines = piece.Span.Count((byte)'\n');
            line += lines;
            column = lines == 0
                ? column + piece.Length
                : piece.Length - piece.Span.LastIndexOf((byte)'\n') - 1;
        }

        return origin.Place(line, column);
    }
}
