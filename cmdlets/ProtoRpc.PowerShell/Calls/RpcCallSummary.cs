namespace ProtoRpc;

/// <summary>Counts the calls of one command by status.</summary>
public sealed class RpcCallSummary
{
    private readonly SortedDictionary<RpcStatusCode, int> _counts = [];

    /// <summary>The number of calls.</summary>
    public int Total { get; private set; }

    /// <summary>The number of calls that succeeded.</summary>
    public int Succeeded => CountOf(RpcStatusCode.OK);

    /// <summary>The number of calls that failed.</summary>
    public int Failed => Total - Succeeded;

    /// <summary>Whether all calls have ended.</summary>
    public bool IsComplete { get; internal set; }

    /// <summary>The number of calls that ended with a status.</summary>
    public int CountOf(RpcStatusCode status)
    {
        lock (_counts)
        {
            return _counts.GetValueOrDefault(status);
        }
    }

    /// <summary>The counts in one line, such as <c>320 calls: 312 OK, 8 Unavailable</c>. Until all calls have
    /// ended, the text is constant, so that Format-Table shows the rows as one group.</summary>
    public override string ToString()
    {
        lock (_counts)
        {
            if (!IsComplete)
            {
                return "the calls are running";
            }

            string counts = string.Join(", ", _counts.Select(pair => $"{pair.Value} {pair.Key}"));
            return $"{Total} {(Total == 1 ? "call" : "calls")}: {counts}";
        }
    }

    internal void Add(RpcStatusCode status)
    {
        lock (_counts)
        {
            Total++;
            _counts[status] = _counts.GetValueOrDefault(status) + 1;
        }
    }
}
