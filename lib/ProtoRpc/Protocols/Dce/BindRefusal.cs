namespace ProtoRpc.Protocols.Dce;

/// <summary>The error of a caller whose bind, or the interface in it, a server refused.</summary>
internal static class BindRefusal
{
    /// <summary>A bind_nak.</summary>
    public static RpcException OfBind(RpcEndpoint endpoint, BindNakReason reason)
    {
        (RpcStatusCode code, string why) = reason switch
        {
            BindNakReason.LocalLimit => (RpcStatusCode.ResourceExhausted,
                "it has reached its limit of connections. Try again later, or raise MaxConnections or "
                + "MaxConnectionsPerAddress there"),
            BindNakReason.TemporaryCongestion => (RpcStatusCode.ResourceExhausted,
                "it is too busy. Try again later"),
            BindNakReason.ProtocolVersion => (RpcStatusCode.Internal,
                "it does not support DCE/RPC version 5.0"),
            BindNakReason.AuthenticationType => (RpcStatusCode.Unauthenticated,
                "it does not support the authentication type"),
            _ => (RpcStatusCode.Unavailable, $"it gave bind_nak reason {(ushort)reason}"),
        };
        return new RpcException(code, $"'{endpoint}' refused the connection: {why}.")
        {
            Endpoint = endpoint,
        };
    }

    /// <summary>A bind_ack whose result is not that the interface was accepted.</summary>
    /// <param name="endpoint">The server.</param>
    /// <param name="interfaceId">The interface that was asked for.</param>
    /// <param name="interfaceName">The service that it is; null where it is not known.</param>
    /// <param name="refused">The server's result.</param>
    public static RpcException OfContext(
        RpcEndpoint endpoint, Guid interfaceId, string? interfaceName, ContextResult refused)
    {
        (RpcStatusCode code, string why) = (refused.Result, refused.Reason) switch
        {
            (ContextDecision.ProviderRejection, ContextResult.InterfaceNotSupported) =>
                (RpcStatusCode.Unimplemented,
                "that interface is not served there. Check the interface id and the endpoint"),
            (ContextDecision.ProviderRejection, ContextResult.TransferNotSupported) =>
                (RpcStatusCode.Unimplemented, "the server does not support NDR 2.0"),
            (ContextDecision.ProviderRejection, ContextResult.LocalLimit) =>
                (RpcStatusCode.ResourceExhausted, "the server has too many contexts on this connection"),
            _ => (RpcStatusCode.PermissionDenied,
                $"the server gave result {(ushort)refused.Result}, reason {refused.Reason}"),
        };
        string name = interfaceName is null ? "" : $" of '{interfaceName}'";
        return new RpcException(code, $"'{endpoint}' does not accept interface {interfaceId}{name}: {why}.")
        {
            Endpoint = endpoint,
        };
    }
}
