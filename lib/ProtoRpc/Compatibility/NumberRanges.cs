namespace ProtoRpc.Compatibility;

/// <summary>Ranges of numbers, sorted and joined, for searching.</summary>
internal sealed class NumberRanges
{
    private readonly List<NumberRange> _joined = [];

    public NumberRanges(IEnumerable<NumberRange> ranges)
    {
        foreach (NumberRange range in ranges.Where(range => range.First <= range.Last)
            .OrderBy(range => range.First))
        {
            if (_joined.Count > 0 && range.First <= _joined[^1].Last + 1)
            {
                _joined[^1] = _joined[^1] with { Last = Math.Max(_joined[^1].Last, range.Last) };
            }
            else
            {
                _joined.Add(range);
            }
        }
    }

    public bool Contains(int number) => Contains(new NumberRange(number, number));

    /// <summary>Whether all numbers of a range are in these.</summary>
    public bool Contains(NumberRange range)
    {
        // Finds the last range that begins at or before the given one.
        int low = 0;
        int high = _joined.Count;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (_joined[middle].First <= range.First)
            {
                low = middle + 1;
            }
            else
            {
                high = middle;
            }
        }

        return low > 0 && _joined[low - 1].Last >= range.Last;
    }
}

/// <summary>Numbers that follow each other. Long, because the last of an enum's numbers has no next
/// one.</summary>
/// <param name="First">The first one.</param>
/// <param name="Last">The last one, included.</param>
internal readonly record struct NumberRange(long First, long Last)
{
    /// <summary>A range of a message, whose descriptor excludes the end.</summary>
    public static NumberRange FromMessage(int start, int end) => new(start, (long)end - 1);

    /// <summary>The range as a .proto has it.</summary>
    public override string ToString() => First == Last ? $"{First}" : $"{First} to {Last}";
}
