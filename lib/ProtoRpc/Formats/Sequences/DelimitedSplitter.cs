namespace ProtoRpc.Formats.Sequences;

/// <summary>Splits binary messages, each with its length as a varint before it.</summary>
internal sealed class DelimitedSplitter : MessageSplitter
{
    private const int MaxVarintLength = 5;

    public override bool HasLines => false;

    public override bool TryFind(ReadOnlySpan<byte> bytes, bool isEnd, out FoundMessage found)
    {
        found = default;
        if (!TryReadLength(bytes, out ulong length, out int start))
        {
            return bytes.Length >= MaxVarintLength || (isEnd && bytes.Length > 0)
                ? throw Malformed("the length before a message is cut off or longer than 5 bytes")
                : false;
        }

        if (length > int.MaxValue)
        {
            throw Malformed($"the length before a message is {length} bytes, and 2 GiB is the most");
        }

        if ((ulong)(bytes.Length - start) < length)
        {
            return isEnd
                ? throw Malformed(
                    $"the input ends in a message: {bytes.Length - start} of its {length} bytes are there")
                : false;
        }

        found = new FoundMessage(start, (int)length, start + (int)length);
        return true;
    }

    private static bool TryReadLength(ReadOnlySpan<byte> bytes, out ulong length, out int count)
    {
        length = 0;
        for (count = 0; count < Math.Min(bytes.Length, MaxVarintLength);)
        {
            byte part = bytes[count];
            length |= (ulong)(part & 0x7F) << (7 * count++);
            if (part < 0x80)
            {
                return true;
            }
        }

        return false;
    }

    private static RpcException Malformed(string what) => new(
        RpcStatusCode.InvalidArgument,
        $"This is not a sequence of binary messages: {what}. Each has its length before it, as a varint.")
    {
        ErrorId = RpcErrorIds.MalformedMessage,
    };
}
