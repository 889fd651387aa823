namespace ProtoRpc;

/// <summary>How far a load test is.</summary>
/// <param name="Target">The name of the target that is called now.</param>
/// <param name="IsWarmUp">Whether this is the target's warm-up, whose calls do not count.</param>
/// <param name="Calls">Calls of all targets that ended and count.</param>
/// <param name="Failed">Those of them that failed.</param>
/// <param name="Share">How much of the test is done, 0 to 1.</param>
public readonly record struct RpcLoadProgress(
    string Target, bool IsWarmUp, long Calls, long Failed, double Share);
