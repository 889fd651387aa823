namespace ProtoRpc;

/// <summary>The latencies of one step of a distribution.</summary>
/// <param name="From">The shortest that counts.</param>
/// <param name="To">The first that is too long.</param>
/// <param name="Count">How many calls took as long.</param>
/// <param name="Share">Their share of all calls, 0 to 1.</param>
public readonly record struct RpcLatencyBucket(TimeSpan From, TimeSpan To, long Count, double Share);
