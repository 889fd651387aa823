namespace ProtoRpc;

/// <summary>The progress of a load test.</summary>
/// <param name="Target">The name of the target that is being called.</param>
/// <param name="IsWarmUp">Whether the target is warming up; these calls do not count.</param>
/// <param name="Calls">The number of completed calls of all targets.</param>
/// <param name="Failed">The number of failed calls.</param>
/// <param name="Share">The completed share of the test, 0 to 1.</param>
public readonly record struct RpcLoadProgress(
    string Target, bool IsWarmUp, long Calls, long Failed, double Share);
