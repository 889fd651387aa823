namespace ProtoRpc.Formats.Sequences;

/// <summary>Splits messages of text or XML at the record separator (0x1E), which neither format has within a
/// message. What follows the last one is a message unless it is white space.</summary>
internal sealed class SeparatedSplitter : MessageSplitter
{
    public const byte Separator = 0x1E;

    private int _position;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        int next = bytes[_position..].IndexOf(Separator);
        if (next < 0 && !(isEnd && bytes.IndexOfAnyExcept(" \t\r\n"u8) >= 0))
        {
            _position = bytes.Length;
            found = default;
            return false;
        }

        int end = next < 0 ? bytes.Length : _position + next;
        _position = 0;
        found = new FoundMessage(0, end, next < 0 ? end : end + 1);
        return true;
    }
}
