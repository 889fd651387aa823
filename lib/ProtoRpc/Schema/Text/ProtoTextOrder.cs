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
        WaitingKind[] waiting = [.. _kinds.Select(kind => new WaitingKind(kind))];
        while (waiting.MinBy(kind => kind.NextType) is { NextType: < int.MaxValue } first)
        {
            first.TakeType(order);
        }

        foreach (WaitingKind kind in waiting)
        {
            kind.TakeAll(order);
        }

        return order;
    }

    // Looking for the next message again and again would take square time in a schema with thousands of
    // messages and enums.
    private sealed class WaitingKind
    {
        private readonly List<ProtoTextElement> _elements;
        private readonly Queue<int> _types;
        private int _taken;

        public WaitingKind(List<ProtoTextElement> elements)
        {
            _elements = elements;
            _types = new(Enumerable.Range(0, elements.Count)
                .Where(i => elements[i].TypeIndex is not null));
        }

        /// <summary>The place of the next message; int.MaxValue for none.</summary>
        public int NextType => _types.TryPeek(out int next) ? _elements[next].TypeIndex!.Value : int.MaxValue;

        /// <summary>Takes the elements up to the next message.</summary>
        public void TakeType(List<Action> order) => Take(order, _types.Dequeue() + 1);

        public void TakeAll(List<Action> order) => Take(order, _elements.Count);

        private void Take(List<Action> order, int end)
        {
            for (; _taken < end; _taken++)
            {
                order.Add(_elements[_taken].Write);
            }
        }
    }
}
