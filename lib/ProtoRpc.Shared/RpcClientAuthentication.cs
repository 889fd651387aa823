namespace ProtoRpc;

/// <summary>The identity of a client's calls.</summary>
public enum RpcClientAuthentication
{
    /// <summary>No authentication. Local transports still identify the caller.</summary>
    None,

    /// <summary>The same as <see cref="None"/>, by the original's other name.</summary>
    Anonymous,

    /// <summary>The account that this process runs as.</summary>
    Self,

    /// <summary>The user of a credential.</summary>
    User,

    /// <summary>The holder of a bearer token, on HTTP and gRPC endpoints.</summary>
    Bearer,
}
