namespace ProtoRpc;

/// <summary>Which of several servers of the same kind gets a call.</summary>
public enum RpcLoadBalancing
{
    /// <summary>There is one server.</summary>
    None,

    /// <summary>The first that can be reached, until it cannot be reached any more.</summary>
    PickFirst,

    /// <summary>Each in turn, without those that could not be reached a moment ago.</summary>
    RoundRobin,
}
