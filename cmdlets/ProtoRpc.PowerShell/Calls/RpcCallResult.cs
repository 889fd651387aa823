namespace ProtoRpc;

/// <summary>How one of many calls ended: a row for each endpoint, also for those that did not
/// answer.</summary>
public sealed class RpcCallResult
{
    internal RpcCallResult(string name, RpcEndpoint? endpoint)
    {
        Name = name;
        Endpoint = endpoint?.ToString() ?? name;
    }

    /// <summary>The registered name of the endpoint, or its text as it was given.</summary>
    public string Name { get; }

    /// <summary>The endpoint.</summary>
    public string Endpoint { get; }

    /// <summary>How the call ended.</summary>
    public RpcStatusCode Status => Error?.Code ?? RpcStatusCode.OK;

    /// <summary>The reply; an array for a stream of replies, and null for a call that failed before the
    /// first one.</summary>
    public object? Reply { get; internal set; }

    /// <summary>Why the call failed; null for one that succeeded.</summary>
    public RpcException? Error { get; internal set; }

    /// <summary>How long the call took, with connecting, in milliseconds.</summary>
    public double Milliseconds { get; internal set; }

    /// <summary>The counts of all calls that were made together.</summary>
    public RpcCallSummary Summary { get; internal set; } = new();

    /// <summary>What is to be written as warnings.</summary>
    internal List<string> Warnings { get; } = [];

    /// <inheritdoc/>
    public override string ToString() => $"{Endpoint}: {Status}";
}
