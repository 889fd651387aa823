namespace ProtoRpc.Schema.Linking;

/// <summary>Finds circles in a directed graph: its strongly connected components, by Tarjan's
/// algorithm.</summary>
internal sealed class StrongComponents
{
    private readonly int[] _component;
    private readonly int[] _size;
    private readonly bool[] _isOwnNeighbour;

    /// <summary>Finds the components.</summary>
    /// <param name="edges">The nodes that each node leads to.</param>
    public StrongComponents(IReadOnlyList<IReadOnlyCollection<int>> edges)
    {
        _component = new int[edges.Count];
        _isOwnNeighbour = new bool[edges.Count];
        List<int> sizes = [];
        int[] order = new int[edges.Count];
        int[] lowest = new int[edges.Count];
        bool[] isOpen = new bool[edges.Count];
        Stack<int> open = new();
        int count = 0;

        // An explicit stack, because a hostile graph may be a chain of a million nodes.
        Stack<(int Node, IEnumerator<int> Next)> path = new();
        for (int root = 0; root < edges.Count; root++)
        {
            if (order[root] != 0)
            {
                continue;
            }

            Enter(root);
            while (path.TryPeek(out (int Node, IEnumerator<int> Next) step))
            {
                if (step.Next.MoveNext())
                {
                    int next = step.Next.Current;
                    _isOwnNeighbour[step.Node] |= next == step.Node;
                    if (order[next] == 0)
                    {
                        Enter(next);
                    }
                    else if (isOpen[next])
                    {
                        lowest[step.Node] = Math.Min(lowest[step.Node], order[next]);
                    }

                    continue;
                }

                path.Pop();
                if (path.TryPeek(out (int Node, IEnumerator<int> Next) before))
                {
                    lowest[before.Node] = Math.Min(lowest[before.Node], lowest[step.Node]);
                }

                if (lowest[step.Node] == order[step.Node])
                {
                    Close(step.Node);
                }
            }
        }

        _size = [.. sizes];

        void Enter(int node)
        {
            order[node] = lowest[node] = ++count;
            isOpen[node] = true;
            open.Push(node);
            path.Push((node, edges[node].GetEnumerator()));
        }

        void Close(int node)
        {
            int size = 0;
            int member;
            do
            {
                member = open.Pop();
                isOpen[member] = false;
                _component[member] = sizes.Count;
                size++;
            }
            while (member != node);
            sizes.Add(size);
        }
    }

    /// <summary>The number of a node's component. It is higher than the numbers of all other components that
    /// the node leads to.</summary>
    public int ComponentOf(int node) => _component[node];

    /// <summary>Whether a node leads back to itself.</summary>
    public bool IsInCircle(int node) => _size[_component[node]] > 1 || _isOwnNeighbour[node];
}
