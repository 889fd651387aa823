namespace ProtoRpc.Formats.Sequences;

/// <summary>Finds the end of the first message in a growing sequence of bytes. Each byte is read only once,
/// however few bytes arrive at a time.</summary>
internal abstract class MessageSplitter
{
    /// <summary>Whether errors name their place by line and column.</summary>
    public virtual bool HasLines => true;

    /// <summary>Looks at the bytes of the first message that were not looked at before.</summary>
    /// <param name="bytes">All bytes that were not taken yet; the same ones as before, and more.</param>
    /// <param name="isEnd">Whether no more come.</param>
    /// <param name="found">The message, and the bytes to take with what stands around it.</param>
    /// <returns>False where the message does not end in these bytes, or there is none.</returns>
    public abstract bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found);
}

/// <summary>A message among bytes.</summary>
/// <param name="Start">The bytes before it.</param>
/// <param name="Length">Its length.</param>
/// <param name="Taken">The bytes up to the next message.</param>
internal readonly record struct FoundMessage(int Start, int Length, int Taken);
