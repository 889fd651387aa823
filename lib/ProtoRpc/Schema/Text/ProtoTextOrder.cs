namespace ProtoRpc.Schema.Text;

/// <summary>An element of a file or message.</summary>
/// <param name="Path">Its place in the descriptor.</param>
/// <param name="Write">Writes it.</param>
/// <param name="TypeIndex">
/// The place among the messages around it of the message that it is, or that it brings with it:
/// a group's, or a map's entry. None for other elements.
/// </param>
internal sealed record ProtoTextElement(string Path, Action Write, int? TypeIndex = null);

/// <summary>Puts elements of several kinds into the order of the source,
/// which descriptors keep per kind only.
/// </summary>
internal sealed class ProtoTextOrder(SourcePositions positions)
{
    private readonly List<List<ProtoTextElement>> _kinds = [];

    /// <summary>Adds the elements of a kind in their order, which is never changed.</summary>
    public void Add(IEnumerable<ProtoTextElement> elements) => _kinds.Add([.. elements]);

    /// <summary>All elements: by their places where these are known, else kind by kind as far as the order of
    /// the messages lets them.</summary>
    public IEnumerable<Action> InOrder() => BySource() ?? ByKind();

    private List<Action>? BySource()
    {
        List<((int Line, int Column) Position, Action Write)> placed = [];
        foreach (List<ProtoTextElement> kind in _kinds)
        {
            (int Line, int Column) last = (-1, -1);
            foreach (ProtoTextElement element in kind)
            {
                (int Line, int Column)? position = positions.Of(element.Path);
                if (position is null || position.Value.CompareTo(last) <= 0)
                {
                    return null;
                }

                last = position.Value;
                placed.Add((last, element.Write));
            }
        }

        return [.. placed.OrderBy(p => p.Position).Select(p => p.Write)];
    }

    // Takes elements up to the one with the next message, from the kind that has it,
    // until no message is left.
    private List<Action> ByKind()
    {
        List<Action> order = [];
        Queue<ProtoTextElement>[] queues = [.. _kinds.Select(k => new Queue<ProtoTextElement>(k))];
        while (queues.MinBy(NextType) is { } first && NextType(first) < int.MaxValue)
        {
            bool isTaken = false;
            while (!isTaken)
            {
                ProtoTextElement element = first.Dequeue();
                order.Add(element.Write);
                isTaken = element.TypeIndex is not null;
            }
        }

        order.AddRange(queues.SelectMany(q => q).Select(e => e.Write));
        return order;
    }

    private static int NextType(Queue<ProtoTextElement> queue) =>
        queue.FirstOrDefault(e => e.TypeIndex is not null)?.TypeIndex ?? int.MaxValue;
}
