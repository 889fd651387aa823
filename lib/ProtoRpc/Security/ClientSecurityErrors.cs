namespace ProtoRpc.Security;

/// <summary>Makes exceptions of what a client's security cannot be like.</summary>
internal static class ClientSecurityErrors
{
    public static RpcException Invalid(string property, object value) => new(
        RpcStatusCode.InvalidArgument, $"{nameof(RpcClientSecurity)}.{property} cannot be '{value}'.")
    {
        ErrorId = "InvalidSecurity",
    };

    public static RpcException Credential(RpcClientAuthentication authentication) => new(
        RpcStatusCode.InvalidArgument,
        authentication == RpcClientAuthentication.User
            ? "Authentication as User needs a credential with a user name."
            : $"A credential is for authentication as User, not as {authentication}.")
    {
        ErrorId = "InvalidCredential",
    };

    public static RpcException NothingToCall(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition,
        $"Who calls is proved to a service, and none of '{endpoint}' is known. Give a schema.")
    {
        ErrorId = "NoSchema",
        Endpoint = endpoint,
    };

    public static RpcException KernelKnows(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"'{endpoint}' learns from the kernel who this account is, and not by NTLM or Kerberos. "
        + "Leave the mechanism and the service principal name out, or authenticate as User with a "
        + "credential.")
    {
        ErrorId = "InvalidSecurity",
        Endpoint = endpoint,
    };

    public static RpcException NotOverHttp(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"HTTP agrees with '{endpoint}' on Kerberos by Negotiate, and has no name for Kerberos alone. "
        + "Use Negotiate.")
    {
        ErrorId = "InvalidSecurity",
        Endpoint = endpoint,
    };

    public static RpcException NotNative(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"Nobody can be authenticated to '{endpoint}': NTLM and Kerberos are for native endpoints.")
    {
        ErrorId = "AuthenticationNotSupported",
        Endpoint = endpoint,
    };

    public static RpcException NoOwnIdentity(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"Nothing on this system can prove the own account to '{endpoint}'. "
        + "Authenticate as User with a credential, or use a local endpoint.")
    {
        ErrorId = "NoOwnIdentity",
        Endpoint = endpoint,
    };

    public static RpcException NoKerberos(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented, "Kerberos is not available on this system. Use NTLM.")
    {
        ErrorId = "NoKerberos",
        Endpoint = endpoint,
    };
}
