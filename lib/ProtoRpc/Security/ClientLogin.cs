using System.Runtime.Versioning;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Sspi;

namespace ProtoRpc.Security;

/// <summary>Applies a <see cref="RpcClientSecurity"/> to one endpoint: creates the authentication of each
/// connection. Thread-safe.</summary>
internal sealed class ClientLogin
{
    private readonly Func<SecurityContext> _create;

    private ClientLogin(byte package, RpcProtectionLevel level, string user, Func<SecurityContext> create)
    {
        Package = package;
        Level = level;
        User = user;
        _create = create;
    }

    /// <summary>The authentication type on the wire.</summary>
    public byte Package { get; }

    /// <summary>How calls are to be protected; never less.</summary>
    public RpcProtectionLevel Level { get; }

    /// <summary>The name of the user, for errors.</summary>
    public string User { get; }

    /// <summary>Begins the authentication of a connection.</summary>
    public SecurityContext Begin() => _create();

    /// <summary>Checks the settings before the client connects.</summary>
    /// <returns>Null if the client does not authenticate.</returns>
    /// <exception cref="RpcException">InvalidArgument or Unimplemented:
    /// it cannot work like that here.</exception>
    public static ClientLogin? Prepare(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        Check(security);
        bool isSelf = security.Authentication == RpcClientAuthentication.Self;
        if (isSelf && endpoint.Has(EndpointFeatures.KnowsCaller))
        {
            return security is { Mechanism: 0, ServicePrincipalName: null }
                ? null
                : throw ClientSecurityErrors.KernelKnows(endpoint);
        }

        if (!isSelf && security.Authentication != RpcClientAuthentication.User)
        {
            return null;
        }

        if (endpoint.Has(EndpointFeatures.WholeMessages))
        {
            throw ClientSecurityErrors.OnlyKernelKnows(endpoint);
        }

        return OperatingSystem.IsWindows() && SspiChoice.OfClient(security, isWindows: true) is { } package
            ? ByWindows(endpoint, security, package)
            : ByTable(endpoint, security);
    }

    /// <summary>Rejects settings that contradict each other on every endpoint.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    public static void Check(RpcClientSecurity security)
    {
        if (!Enum.IsDefined(security.Authentication))
        {
            throw ClientSecurityErrors.Invalid(
                nameof(RpcClientSecurity.Authentication), security.Authentication);
        }

        if (!Enum.IsDefined(security.Mechanism))
        {
            throw ClientSecurityErrors.Invalid(nameof(RpcClientSecurity.Mechanism), security.Mechanism);
        }

        if (!Enum.IsDefined(security.ProtectionLevel) || security.ProtectionLevel == RpcProtectionLevel.None)
        {
            throw ClientSecurityErrors.Invalid(
                nameof(RpcClientSecurity.ProtectionLevel), security.ProtectionLevel);
        }

        // The original used the user's own account for a missing credential, and ignored a superfluous one.
        // Both are errors here.
        bool needsCredential = security.Authentication == RpcClientAuthentication.User;
        if (needsCredential != security.Credential is { UserName.Length: > 0 })
        {
            throw ClientSecurityErrors.Credential(security.Authentication);
        }

        bool needsToken = security.Authentication == RpcClientAuthentication.Bearer;
        if (needsToken != security.Token is { Length: > 0 })
        {
            throw ClientSecurityErrors.Token(security.Authentication);
        }
    }

    [SupportedOSPlatform("windows")]
    private static ClientLogin ByWindows(RpcEndpoint endpoint, RpcClientSecurity security, byte package)
    {
        string service = ServiceOf(endpoint, security);
        SspiCredential credential = SspiCredential.OfClient(
            SecurityPackage.NameOf(package), security.Credential);
        return new ClientLogin(
            package,
            security.ProtectionLevel,
            security.Credential?.UserName ?? Environment.UserName,
            () => SspiContext.ForClient(credential, service));
    }

    // The user's own account authenticates with Kerberos tickets, because NTLM would need its password.
    private static ClientLogin ByTable(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        bool isSelf = security.Authentication == RpcClientAuthentication.Self;
        NtlmCredential? user = isSelf ? null : NtlmCredential.From(security.Credential!);
        SecurityMechanism mechanism = SecurityMechanisms.Get(
            security.Mechanism, usual: isSelf ? RpcMechanism.Kerberos : RpcMechanism.Ntlm);
        ClientProof proof = new(isSelf ? null : security.Credential, ServiceOf(endpoint, security));
        string name = user is null ? Environment.UserName
            : user.Domain.Length == 0 ? user.User
            : $@"{user.Domain}\{user.User}";
        return mechanism.ForClient(proof) is { } create
            ? new ClientLogin(mechanism.Package, security.ProtectionLevel, name, create)
            : throw (isSelf
                ? new RpcException(
                    RpcStatusCode.Unimplemented, RpcErrorIds.NoOwnIdentity,
                    $"This system cannot authenticate its own account to '{endpoint}'. "
                    + "Authenticate as User with a credential, or use a local endpoint.", endpoint)
                : new RpcException(
                    RpcStatusCode.Unimplemented, RpcErrorIds.NoKerberos,
                    "Kerberos is not available on this system. Use NTLM.", endpoint));
    }

    private static string ServiceOf(RpcEndpoint endpoint, RpcClientSecurity security) =>
        security.ServicePrincipalName ?? $"host/{endpoint.Host}";
}

/// <summary>Creates exceptions for invalid security settings of a client.</summary>
internal static class ClientSecurityErrors
{
    public static RpcException Invalid(string property, object value) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
        $"{nameof(RpcClientSecurity)}.{property} cannot be '{value}'.");

    public static RpcException Credential(RpcClientAuthentication authentication) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidCredential,
        authentication == RpcClientAuthentication.User
            ? "Authentication as User needs a credential with a user name."
            : $"A credential is for authentication as User, not as {authentication}.");

    public static RpcException Token(RpcClientAuthentication authentication) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidCredential,
        authentication == RpcClientAuthentication.Bearer
            ? "Authentication as Bearer needs a token."
            : $"A token is for authentication as Bearer, not as {authentication}.");

    /// <summary>The error for credentials that a header cannot contain.</summary>
    public static RpcException NotSendable(RpcEndpoint endpoint, string what) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidCredential,
        $"Cannot authenticate to '{endpoint}': {what}.", endpoint);

    public static RpcException Readable(RpcEndpoint endpoint, string what) => new(
        RpcStatusCode.InvalidArgument,
        $"{what} would be sent to '{endpoint}' unencrypted, readable on the network. "
        + $"Use TLS ({endpoint.Kind.SchemeWith(tls: true)}://), or an endpoint of this machine.")
    {
        ErrorId = RpcErrorIds.UnencryptedEndpoint,
        Endpoint = endpoint,
    };

    public static RpcException NoTokens(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.AuthenticationNotSupported,
        $"A bearer token is for HTTP and gRPC endpoints, and '{endpoint}' is neither."
        + (endpoint.Has(EndpointFeatures.Passwords) ? " Use a credential there." : ""), endpoint);

    public static RpcException NothingToCall(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoSchema,
        $"Authentication needs a service, and none is known for '{endpoint}'. Give a schema.", endpoint);

    public static RpcException KernelKnows(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
        $"'{endpoint}' identifies this account by the operating system, not by NTLM or Kerberos. "
        + "Leave out the mechanism and the service principal name, or authenticate as User with a "
        + "credential.", endpoint);

    public static RpcException OnlyKernelKnows(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented, RpcErrorIds.AuthenticationNotSupported,
        $"'{endpoint}' identifies callers by the operating system alone. Leave out the credential; to call "
        + "as another account, run the program as that account, or use a pipe or TCP endpoint.", endpoint);

    public static RpcException NoServerUser(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.AuthenticationNotSupported,
        $"{nameof(RpcClientSecurity)}.{nameof(RpcClientSecurity.ServerUser)} is for local sockets and pipes, "
        + $"where the operating system reports who runs the server, and not for '{endpoint}'. Leave it out.",
        endpoint);

    public static RpcException NoMechanisms(RpcEndpoint endpoint) => new(
        RpcStatusCode.Unimplemented, RpcErrorIds.AuthenticationNotSupported,
        endpoint.IsGrpc
            ? "gRPC supports neither NTLM nor Kerberos, which authentication as Self needs. Give "
                + $"'{endpoint}' a user with a password, a bearer token, or a client certificate."
                : $"'{endpoint}' supports neither NTLM nor Kerberos. Leave out the mechanism.", endpoint);

    public static RpcException NoPasswords(RpcEndpoint endpoint) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.AuthenticationNotSupported,
        $"'{endpoint}' does not support passwords: the operating system identifies the caller. "
        + "Leave out the credential.", endpoint);
}
