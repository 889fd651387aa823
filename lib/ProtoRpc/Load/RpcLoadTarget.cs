namespace ProtoRpc;

/// <summary>A target of a load test: one method at one endpoint.</summary>
/// <param name="Name">The name in results: the endpoint, or a more descriptive name.</param>
/// <param name="Clients">The clients that the callers share; at least one. They stay open.</param>
/// <param name="Method">The method.</param>
/// <param name="Requests">The requests.</param>
public sealed record RpcLoadTarget(
    string Name, IReadOnlyList<RpcClient> Clients, RpcMethodInfo Method, RpcLoadRequests Requests)
{
    /// <summary>Creates a target with one client.</summary>
    public RpcLoadTarget(RpcClient client, RpcMethodInfo method, RpcLoadRequests requests)
        : this(client.Endpoint.ToString(), [client], method, requests)
    {
    }
}
