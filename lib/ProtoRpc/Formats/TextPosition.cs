using System.Buffers;

namespace ProtoRpc.Formats;

/// <summary>Where in a text an offset is.</summary>
internal static class TextPosition
{
    /// <summary><c>line 3, column 12</c>, both from 1; columns count bytes.</summary>
    public static string Of(in ReadOnlySequence<byte> text, long offset)
    {
        long line = 1;
        long column = 1;
        foreach (ReadOnlyMemory<byte> piece in text.Slice(0, Math.Min(offset, text.Length)))
        {
            int lines = piece.Span.Count((byte)'\n');
            line += lines;
            column = lines == 0
                ? column + piece.Length
                : piece.Length - piece.Span.LastIndexOf((byte)'\n');
        }

        return $"line {line}, column {column}";
    }
}
