namespace ProtoRpc.Fuzz.Inputs;

/// <summary>Takes decisions from the front of an input: past its end, all are 0.</summary>
internal ref struct Tail(ReadOnlySpan<byte> bytes)
{
    /// <summary>What is left.</summary>
    public ReadOnlySpan<byte> Rest { get; private set; } = bytes;

    public byte Byte()
    {
        if (Rest.IsEmpty)
        {
            return 0;
        }

        byte first = Rest[0];
        Rest = Rest[1..];
        return first;
    }

    /// <summary>A number below another one, of one byte.</summary>
    public int Next(int count) => Byte() % count;

    public ReadOnlySpan<byte> Take(int count)
    {
        count = Math.Min(count, Rest.Length);
        ReadOnlySpan<byte> taken = Rest[..count];
        Rest = Rest[count..];
        return taken;
    }
}
