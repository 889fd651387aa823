namespace ProtoRpc.Formats;

/// <summary>Which fields of a message have been read.</summary>
internal struct SeenFields(int count)
{
    private const int BitsPerWord = 64;

    private readonly ulong[]? _others = count > BitsPerWord ? new ulong[(count - 1) / BitsPerWord] : null;
    private ulong _first;

    /// <summary>Notes a field by its index.</summary>
    /// <returns>False when it was there already.</returns>
    public bool Add(int index)
    {
        ulong bit = 1UL << (index % BitsPerWord);
        ref ulong word = ref index < BitsPerWord ? ref _first : ref _others![(index / BitsPerWord) - 1];
        bool added = (word & bit) == 0;
        word |= bit;
        return added;
    }
}
