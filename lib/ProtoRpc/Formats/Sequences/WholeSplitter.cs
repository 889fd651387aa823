namespace ProtoRpc.Formats.Sequences;

/// <summary>Takes all bytes as one binary message, which does not say where it ends.</summary>
internal sealed class WholeSplitter : MessageSplitter
{
    private bool _isFound;

    public override bool HasLines => false;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        found = new FoundMessage(0, bytes.Length, bytes.Length);
        return isEnd && !_isFound && (_isFound = true);
    }
}
