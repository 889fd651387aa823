namespace ProtoRpc;

/// <summary>What a load test calls: one method at one endpoint.</summary>
/// <param name="Name">What results call it: the endpoint, or a name that says more.</param>
/// <param name="Clients">The clients, over which the callers are spread; at least one. They stay
/// open.</param>
/// <param name="Method">The method.</param>
/// <param name="Requests">What is sent.</param>
public sealed record RpcLoadTarget(
    string Name, IReadOnlyList<RpcClient> Clients, RpcMethodInfo Method, RpcLoadRequests Requests)
{
    /// <summary>A target with one client.</summary>
    public RpcLoadTarget(RpcClient client, RpcMethodInfo method, RpcLoadRequests requests)
        : this(client.Endpoint.ToString(), [client], method, requests)
    {
    }
}
