namespace ProtoRpc;

/// <summary>The result of one of many calls: one row for each endpoint, including the endpoints that did not
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

    /// <summary>The reply; an array for a stream of replies. Null if the call failed before its first
    /// reply.</summary>
    public object? Reply { get; internal set; }

    /// <summary>Why the call failed; null if it succeeded.</summary>
    public RpcException? Error { get; internal set; }

    /// <summary>The duration of the call in milliseconds, including the time to connect.</summary>
    public double Milliseconds { get; internal set; }

    /// <summary>The counts of all calls of the same command.</summary>
    public RpcCallSummary Summary { get; internal set; } = new();

    /// <summary>The warnings to write for this call.</summary>
    internal List<string> Warnings { get; } = [];

    /// <inheritdoc/>
    public override string ToString() => $"{Endpoint}: {Status}";
}
