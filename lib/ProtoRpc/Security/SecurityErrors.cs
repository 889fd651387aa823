namespace ProtoRpc.Security;

/// <summary>Makes exceptions of authentications that failed.</summary>
internal static class SecurityErrors
{
    /// <summary>The peer's token proves nothing, or not what is needed.</summary>
    public static RpcException Refused(string mechanism, string why, Exception? cause = null) => new(
        RpcStatusCode.Unauthenticated, $"{mechanism}: {why}.", cause)
    {
        ErrorId = RpcErrorIds.AuthenticationFailed,
    };

    /// <summary>The peer's token is none of this mechanism.</summary>
    public static RpcException Malformed(string mechanism, string which) =>
        Refused(mechanism, $"{which} of the peer cannot be decoded. The peer may use another mechanism");

    /// <summary>The peer goes on after the end.</summary>
    public static RpcException OutOfTurn(string mechanism) =>
        Refused(mechanism, "the peer sent another token after the last one");
}
