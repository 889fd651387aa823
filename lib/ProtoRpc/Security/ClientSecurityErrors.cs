namespace ProtoRpc.Security;

/// <summary>Makes exceptions of what a client's security cannot be like.</summary>
internal static class ClientSecurityErrors
{
    public static RpcException Invalid(string property, object value) => new(
        RpcStatusCode.InvalidArgument, $"{nameof(RpcClientSecurity)}.{property} cannot be '{value}'.")
    {
        ErrorId = RpcErrorIds.InvalidSecurity,
    };

    public static RpcException Credential(RpcClientAuthentication authentication) => new(
        RpcStatusCode.InvalidArgument,
        authentication == RpcClientAuthentication.User
            ? "Authentication as User needs a credential with a user name."
            : $"A credential is for authentication as User, not as {authentication}.")
    {
        ErrorId = RpcErrorIds.InvalidCredential,
    };

    public static RpcException Token(RpcClientAuthentication authentication) => new(
        RpcStatusCode.InvalidArgument,
        authentication == RpcClientAuthentication.Bearer
            ? "Authentication as Bearer needs a token."
            : $"A token is for authentication as Bearer, not as {authentication}.")
    {
        ErrorId = RpcErrorIds.InvalidCredential,
    };

    /// <summary>What cannot be sent as a header.</summary>
    public static RpcException NotSendable(RpcEndpoint endpoint, string what) => new(
        RpcStatusCode.InvalidArgument, $"Cannot authenticate to '{endpoint}': {what}.")
    {
        ErrorId = RpcErrorIds.InvalidCredential,
        Endpoint = endpoint,
    };

    public static RpcException Readable(RpcEndpoint endpoint, string what) => new(
        RpcStatusCode.InvalidArgument,
        $"{what} would be sent to '{endpoint}' unencrypted, readable on the network. "
        + $"Use TLS ({endpoint.Kind.SchemeWith(tls: true)}://), or an endpoint of this machine.")
    {
        ErrorId = RpcErrorIds.UnencryptedEndpoint,
        Endpoint = endpoint,
    };

    public static RpcException NoTokens(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"A bearer token is for HTTP and gRPC endpoints, and '{endpoint}' is neither."
        + (endpoint.Has(EndpointFeatures.Passwords) ? " Use a credential there." : ""))
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NothingToCall(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition,
        $"Authentication needs a service, and none is known for '{endpoint}'. Give a schema.")
    {
        ErrorId = RpcErrorIds.NoSchema,
        Endpoint = endpoint,
    };

    public static RpcException KernelKnows(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"'{endpoint}' identifies this account by the operating system, not by NTLM or Kerberos. "
        + "Leave out the mechanism and the service principal name, or authenticate as User with a "
        + "credential.")
    {
        ErrorId = RpcErrorIds.InvalidSecurity,
        Endpoint = endpoint,
    };

    public static RpcException OnlyKernelKnows(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"'{endpoint}' identifies callers by the operating system alone. Leave out the credential; to call "
        + "as another account, run the program as that account, or use a pipe or TCP endpoint.")
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NoServerUser(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)} is for local sockets and pipes, "
        + $"where the operating system reports who runs the server, and not for '{endpoint}'. Leave it out.")
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NotOverHttp(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"'{endpoint}' does not support Kerberos alone, because HTTP has no scheme for it. "
        + "Use Negotiate, which selects Kerberos.")
    {
        ErrorId = RpcErrorIds.InvalidSecurity,
        Endpoint = endpoint,
    };

    public static RpcException NoMechanisms(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        endpoint.IsGrpc
            ? "gRPC supports neither NTLM nor Kerberos, which authentication as Self needs. Give "
                + $"'{endpoint}' a user with a password, a bearer token, or a client certificate."
                : $"'{endpoint}' supports neither NTLM nor Kerberos. Leave out the mechanism.")
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NoPasswords(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"'{endpoint}' does not support passwords: the operating system identifies the caller. "
        + "Leave out the credential.")
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NoOwnIdentity(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"This system cannot authenticate its own account to '{endpoint}'. "
        + "Authenticate as User with a credential, or use a local endpoint.")
    {
        ErrorId = RpcErrorIds.NoOwnIdentity,
        Endpoint = endpoint,
    };

    public static RpcException NoKerberos(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented, "Kerberos is not available on this system. Use NTLM.")
    {
        ErrorId = RpcErrorIds.NoKerberos,
        Endpoint = endpoint,
    };
}
