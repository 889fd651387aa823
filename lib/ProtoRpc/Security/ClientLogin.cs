using System.Runtime.Versioning;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Sspi;

namespace ProtoRpc.Security;

/// <summary>What a <see cref="RpcClientSecurity"/> means for one endpoint: an authentication for each
/// connection. Safe for use by many threads.</summary>
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

    /// <summary>Who calls, for errors.</summary>
    public string User { get; }

    /// <summary>Begins the authentication of a connection.</summary>
    public SecurityContext Begin() => _create();

    /// <summary>Checks what is wanted, before anything is connected.</summary>
    /// <returns>Null when there is nothing to prove.</returns>
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

        // The original took a missing credential for the own account, and a needless one for nothing.
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

    // The own account has tickets, and NTLM would need its password.
    private static ClientLogin ByTable(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        bool isSelf = security.Authentication == RpcClientAuthentication.Self;
        NtlmCredential? user = isSelf ? null : NtlmCredential.From(security.Credential!);
        SecurityMechanism mechanism = SecurityMechanisms.Of(
            security.Mechanism, usual: isSelf ? RpcMechanism.Kerberos : RpcMechanism.Ntlm);
        ClientProof proof = new(isSelf ? null : security.Credential, ServiceOf(endpoint, security));
        string name = user is null ? Environment.UserName
            : user.Domain.Length == 0 ? user.User
            : $@"{user.Domain}\{user.User}";
        return mechanism.ForClient(proof) is { } create
            ? new ClientLogin(mechanism.Package, security.ProtectionLevel, name, create)
            : throw (isSelf
                ? ClientSecurityErrors.NoOwnIdentity(endpoint)
                : ClientSecurityErrors.NoKerberos(endpoint));
    }

    private static string ServiceOf(RpcEndpoint endpoint, RpcClientSecurity security) =>
        security.ServicePrincipalName ?? $"host/{endpoint.Host}";
}
