namespace ProtoRpc.Mocks;

/// <summary>A call of a file of recorded calls.</summary>
/// <param name="Method">The method.</param>
/// <param name="Requests">What it was called with.</param>
/// <param name="Answer">What it was answered.</param>
/// <param name="Mask">The fields that the requests were written without.</param>
internal sealed record ReplayedCall(
    RpcMethodInfo Method, IReadOnlyList<DynamicMessage> Requests, MockAnswer Answer,
    IReadOnlyList<string> Mask);
