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
        string property, string parameter, RpcAuthentication authentication, string needed) => new(
        RpcStatusCode.InvalidArgument,
        $"Callers are not asked for a proof that needs {parameter} ({nameof(RpcServerSecurity)}.{property}): "
        + $"authentication is {authentication}. Add {needed} to it, or leave {parameter} out.")
        {
            ErrorId = RpcErrorIds.InvalidSecurity,
        };

    public static RpcException NoNtlmAccounts() => new(
        RpcStatusCode.FailedPrecondition,
        "Nothing on this system verifies NTLM for the listener. "
        + "Give it the accounts that may call (-NtlmAccount; "
        + $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.NtlmAccounts)}), or use another mechanism.")
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
        "Negotiate agrees on Kerberos or NTLM, and this listener can do neither. "
        + $"Give it NTLM accounts (-NtlmAccount; {nameof(RpcServerSecurity)}."
        + $"{nameof(RpcServerSecurity.NtlmAccounts)}), or the machine a Kerberos key.")
    {
        ErrorId = RpcErrorIds.NothingToNegotiate,
    };
}
