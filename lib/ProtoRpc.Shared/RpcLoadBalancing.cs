namespace ProtoRpc;

/// <summary>Selects the server of a call, if there are several of the same kind.</summary>
public enum RpcLoadBalancing
{
    /// <summary>There is one server.</summary>
    None,

    /// <summary>The first reachable server, until it becomes unreachable.</summary>
    PickFirst,

    /// <summary>Each server in turn, except servers that were just unreachable.</summary>
    RoundRobin,
}
