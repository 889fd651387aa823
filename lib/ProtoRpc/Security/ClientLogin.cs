using System.Net;
using System.Runtime.Versioning;
using ProtoRpc.Security.Gss;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Spnego;
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
        if ((security.Authentication == RpcClientAuthentication.User
                || (security.Authentication == RpcClientAuthentication.Self
                    && !endpoint.Has(EndpointFeatures.KnowsCaller)))
            && OperatingSystem.IsWindows()
            && SspiChoice.OfClient(security, isWindows: true) is { } package)
        {
            return ByWindows(endpoint, security, package);
        }

        return security.Authentication switch
        {
            RpcClientAuthentication.User => WithCredential(endpoint, security),
            RpcClientAuthentication.Self when !endpoint.Has(EndpointFeatures.KnowsCaller) =>
                AsSelf(endpoint, security),
            RpcClientAuthentication.Self when security is not { Mechanism: 0, ServicePrincipalName: null } =>
                throw ClientSecurityErrors.KernelKnows(endpoint),
            _ => null,
        };
    }

    /// <summary>Checks what makes no sense whatever the endpoint is.</summary>
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

    // With the tickets that the account has; NTLM would need its password.
    private static ClientLogin AsSelf(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        if (!GssApi.IsAvailable || security.Mechanism == RpcMechanism.Ntlm)
        {
            throw ClientSecurityErrors.NoOwnIdentity(endpoint);
        }

        string service = ServiceOf(endpoint, security);
        Func<SecurityContext> kerberos = () => KerberosContext.ForClient(GssCredential.OfSelf(), service);
        return security.Mechanism == RpcMechanism.Negotiate
            ? new ClientLogin(
                SecurityPackage.Negotiate, security.ProtectionLevel, Environment.UserName,
                () => new SpnegoClientContext([new SpnegoMechanism(SpnegoOid.Kerberos, kerberos)]))
            : new ClientLogin(
                SecurityPackage.Kerberos, security.ProtectionLevel, Environment.UserName, kerberos);
    }

    private static ClientLogin WithCredential(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        NtlmCredential credential = NtlmCredential.From(security.Credential!);
        NtlmClientOptions options = new()
        {
            TargetName = ServiceOf(endpoint, security),
            Workstation = Environment.MachineName,
        };
        Func<SecurityContext> ntlm = () => new NtlmClientContext(credential, options);
        string user =
            credential.Domain.Length == 0 ? credential.User : $@"{credential.Domain}\{credential.User}";
        Func<SecurityContext> kerberos = () => KerberosContext.ForClient(
            GssCredential.Of(security.Credential!), options.TargetName);
        return security.Mechanism switch
        {
            RpcMechanism.Kerberos when !GssApi.IsAvailable => throw ClientSecurityErrors.NoKerberos(endpoint),
            RpcMechanism.Kerberos =>
                new ClientLogin(SecurityPackage.Kerberos, security.ProtectionLevel, user, kerberos),
            RpcMechanism.Negotiate => new ClientLogin(
                SecurityPackage.Negotiate, security.ProtectionLevel, user,
                () => new SpnegoClientContext(MayHaveTickets(security.Credential!)
                    ? [new(SpnegoOid.Kerberos, kerberos), new(SpnegoOid.Ntlm, ntlm)]
                    : [new(SpnegoOid.Ntlm, ntlm)])),
            _ => new ClientLogin(SecurityPackage.Ntlm, security.ProtectionLevel, user, ntlm),
        };
    }

    private static string ServiceOf(RpcEndpoint endpoint, RpcClientSecurity security) =>
        security.ServicePrincipalName ?? $"host/{endpoint.Host}";

    // A domain or a machine as NTLM knows it is no realm, and to look for the KDC of one takes long.
    private static bool MayHaveTickets(NetworkCredential credential) =>
        GssApi.IsAvailable
        && (credential.UserName.Contains('@') || credential.Domain.Contains('.'));
}
