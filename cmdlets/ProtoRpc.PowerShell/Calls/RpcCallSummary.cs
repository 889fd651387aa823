namespace ProtoRpc;

/// <summary>How calls that were made together ended, counted by status.</summary>
public sealed class RpcCallSummary
{
    private readonly SortedDictionary<RpcStatusCode, int> _counts = [];

    /// <summary>How many calls there were.</summary>
    public int Total { get; private set; }

    /// <summary>How many succeeded.</summary>
    public int Succeeded => CountOf(RpcStatusCode.OK);

    /// <summary>How many failed.</summary>
    public int Failed => Total - Succeeded;

    /// <summary>Whether all calls have ended.</summary>
    public bool IsComplete { get; internal set; }

    /// <summary>How many calls ended with a status.</summary>
    public int CountOf(RpcStatusCode status)
    {
        lock (_counts)
        {
            return _counts.GetValueOrDefault(status);
        }
    }

    /// <summary>The counts in one line, as <c>320 calls: 312 OK, 8 Unavailable</c>; a constant text until
    /// all calls have ended, so that a table of rows is one group.</summary>
    public override string ToString()
    {
        lock (_counts)
        {
            return IsComplete
                ? $"{Total} calls: {string.Join(", ", _counts.Select(pair => $"{pair.Value} {pair.Key}"))}"
                : "the calls are running";
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
