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
}
