using System.Buffers;

namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Bytes in pieces, as a connection may bring them.</summary>
internal sealed class Segments : ReadOnlySequenceSegment<byte>
{
    private Segments(ReadOnlyMemory<byte> memory, long index)
    {
        Memory = memory;
        RunningIndex = index;
    }

    public static ReadOnlySequence<byte> Of(byte[] bytes, int size)
    {
        Segments first = new(bytes.AsMemory(0, Math.Min(size, bytes.Length)), 0);
        Segments last = first;
        for (int at = last.Memory.Length; at < bytes.Length; at += last.Memory.Length)
        {
            Segments next = new(bytes.AsMemory(at, Math.Min(size, bytes.Length - at)), at);
            last.Next = next;
            last = next;
        }

        return new ReadOnlySequence<byte>(first, 0, last, last.Memory.Length);
    }
}
