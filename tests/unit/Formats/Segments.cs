using System.Buffers;

namespace ProtoRpc.Tests.Formats;

/// <summary>Bytes in several pieces, as they come from a network.</summary>
internal sealed class Segments : ReadOnlySequenceSegment<byte>
{
    private Segments(ReadOnlyMemory<byte> memory, long before)
    {
        Memory = memory;
        RunningIndex = before;
    }

    public static ReadOnlySequence<byte> Of(ReadOnlyMemory<byte> first, ReadOnlyMemory<byte> second)
    {
        Segments start = new(first, 0);
        Segments end = new(second, first.Length);
        start.Next = end;
        return new ReadOnlySequence<byte>(start, 0, end, second.Length);
    }

    /// <summary>Pieces of one size, with an empty one before each.</summary>
    public static ReadOnlySequence<byte> Pieces(ReadOnlyMemory<byte> bytes, int size)
    {
        Segments start = new(default, 0);
        Segments end = start;
        for (int offset = 0; offset < bytes.Length; offset += size)
        {
            foreach (ReadOnlyMemory<byte> piece in
                (ReadOnlyMemory<byte>[])[default, bytes[offset..Math.Min(offset + size, bytes.Length)]])
            {
                Segments next = new(piece, end.RunningIndex + end.Memory.Length);
                end.Next = next;
                end = next;
            }
        }

        return new ReadOnlySequence<byte>(start, 0, end, end.Memory.Length);
    }
}
