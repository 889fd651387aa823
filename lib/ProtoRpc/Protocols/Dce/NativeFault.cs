namespace ProtoRpc.Protocols.Dce;

/// <summary>Makes exceptions of what peers answer in place of a reply.</summary>
internal static class NativeFault
{
    /// <summary>A fault by its status.</summary>
    public static RpcException ToException(RpcEndpoint endpoint, uint status, bool mayHaveExecuted)
    {
        (RpcStatusCode code, string meaning) = RpcStatusTable.OfNativeStatus(status);
        return new RpcException(code, $"'{endpoint}' returned fault 0x{status:X8}: {meaning}.")
        {
            Endpoint = endpoint,
            NativeStatus = status,
            MayHaveExecuted = mayHaveExecuted,
            RetryAfter = status == FaultStatus.TooBusy && !mayHaveExecuted ? TimeSpan.Zero : null,
        };
    }

    /// <summary>A return code of the interface other than 0.</summary>
    public static RpcException OfReturnCode(RpcEndpoint endpoint, string what, uint code)
    {
        (RpcStatusCode status, string meaning) = RpcStatusTable.OfNativeStatus(code);
        return new RpcException(status, $"{what} ended with return code 0x{code:X8}: {meaning}.")
        {
            Endpoint = endpoint,
            NativeStatus = code,
            MayHaveExecuted = true,
        };
    }

    /// <summary>The server refuses callers that it does not know.</summary>
    public static RpcException Anonymous(RpcEndpoint endpoint, uint status) => new(
        RpcStatusCode.Unauthenticated,
        $"'{endpoint}' requires authentication, and this connection is anonymous. Connect as User "
        + "with a credential, or as Self.")
    {
        ErrorId = RpcErrorIds.AuthenticationRequired,
        Endpoint = endpoint,
        NativeStatus = status,
    };

    /// <summary>The peer does not keep to the protocol, or speaks another one.</summary>
    public static RpcException BrokenProtocol(RpcEndpoint endpoint, string what, bool mayHaveExecuted) => new(
        RpcStatusCode.Internal,
        $"'{endpoint}' violates the DCE/RPC protocol: {what}. Check that a DCE/RPC server listens there.")
    {
        ErrorId = RpcErrorIds.ProtocolError,
        Endpoint = endpoint,
        MayHaveExecuted = mayHaveExecuted,
    };
}
