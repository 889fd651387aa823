namespace ProtoRpc;

/// <summary>One bucket of a latency distribution.</summary>
/// <param name="From">The lower bound, inclusive.</param>
/// <param name="To">The upper bound, exclusive.</param>
/// <param name="Count">The number of calls in the bucket.</param>
/// <param name="Share">The share of all calls, 0 to 1.</param>
public readonly record struct RpcLatencyBucket(TimeSpan From, TimeSpan To, long Count, double Share);
