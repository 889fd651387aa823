namespace ProtoRpc.Security;

/// <summary>Makes exceptions of what a listener's security cannot be like.</summary>
internal static class ServerSecurityErrors
{
    public static RpcException Invalid(string property, object value) => new(
        RpcStatusCode.InvalidArgument, $"{nameof(RpcServerSecurity)}.{property} cannot be '{value}'.")
    {
        ErrorId = RpcErrorIds.InvalidSecurity,
    };

    public static RpcException Unused(
        string property, RpcAuthentication authentication, string needed) => new(
        RpcStatusCode.InvalidArgument,
        $"{nameof(RpcServerSecurity)}.{property} has no effect, because authentication is {authentication}. "
        + $"Add {needed} to the authentication, or leave {property} out.")
        {
            ErrorId = RpcErrorIds.InvalidSecurity,
        };

    public static RpcException NoNtlmAccounts() => new(
        RpcStatusCode.FailedPrecondition,
        "This system cannot verify NTLM for the listener. Set "
        + $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)} to the accounts that may "
        + "call, or use another mechanism.")
    {
        ErrorId = RpcErrorIds.NoNtlmAccounts,
    };

    public static RpcException NoKerberos() => new(
        RpcStatusCode.Unimplemented, "Kerberos is not available on this system. Use NTLM with accounts.")
    {
        ErrorId = RpcErrorIds.NoKerberos,
    };

    public static RpcException NothingToNegotiate() => new(
        RpcStatusCode.FailedPrecondition,
        "Negotiate needs Kerberos or NTLM, and this listener has neither. Set "
        + $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}, or give the machine "
        + "a Kerberos key.")
    {
        ErrorId = RpcErrorIds.NothingToNegotiate,
    };
}
