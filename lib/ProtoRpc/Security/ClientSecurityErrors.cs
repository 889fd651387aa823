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
        $"{what} would go to '{endpoint}' in clear, and others on the network could read it. "
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
        $"Who calls is proved to a service, and none of '{endpoint}' is known. Give a schema.")
    {
        ErrorId = RpcErrorIds.NoSchema,
        Endpoint = endpoint,
    };

    public static RpcException KernelKnows(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"'{endpoint}' learns from the kernel who this account is, and not by NTLM or Kerberos. "
        + "Leave the mechanism and the service principal name out, or authenticate as User with a "
        + "credential.")
    {
        ErrorId = RpcErrorIds.InvalidSecurity,
        Endpoint = endpoint,
    };

    public static RpcException NotOverHttp(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"HTTP agrees with '{endpoint}' on Kerberos by Negotiate, and has no name for Kerberos alone. "
        + "Use Negotiate.")
    {
        ErrorId = RpcErrorIds.InvalidSecurity,
        Endpoint = endpoint,
    };

    public static RpcException NoMechanisms(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        endpoint.IsGrpc
            ? $"gRPC knows neither NTLM nor Kerberos, and so not the own account: '{endpoint}' takes a user "
                + "with a password, a bearer token, or a client certificate."
            : $"'{endpoint}' has neither NTLM nor Kerberos. Leave the mechanism out.")
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NoPasswords(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument,
        $"'{endpoint}' takes no user with a password: the server is told by the system who calls. Leave the "
        + "credential out.")
    {
        ErrorId = RpcErrorIds.AuthenticationNotSupported,
        Endpoint = endpoint,
    };

    public static RpcException NoOwnIdentity(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented,
        $"Nothing on this system can prove the own account to '{endpoint}'. "
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
