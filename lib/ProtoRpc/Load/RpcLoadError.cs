namespace ProtoRpc;

/// <summary>The calls of a load test that failed with the same status.</summary>
/// <param name="Status">The status.</param>
/// <param name="Count">The number of calls.</param>
/// <param name="First">The first of these failures.</param>
public sealed record RpcLoadError(RpcStatusCode Status, long Count, RpcException First)
{
    /// <inheritdoc/>
    public override string ToString() => $"{Count} {Status}: {First.Message}";
}
