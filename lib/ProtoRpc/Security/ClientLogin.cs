using ProtoRpc.Security.Ntlm;
using ProtoRpc.Security.Spnego;

namespace ProtoRpc.Security;

/// <summary>What a <see cref="RpcClientSecurity"/> means for one endpoint: an authentication for each connection.
/// Safe for use by many threads.</summary>
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
    /// <exception cref="RpcException">InvalidArgument or Unimplemented: it cannot work like that here.</exception>
    public static ClientLogin? Prepare(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        Check(security);
        return security.Authentication switch
        {
            RpcClientAuthentication.User => WithCredential(endpoint, security),
            RpcClientAuthentication.Self when endpoint.Transport == RpcTransport.Tcp =>
                throw ClientSecurityErrors.NoOwnIdentity(endpoint),
            _ => null,
        };
    }

    private static ClientLogin WithCredential(RpcEndpoint endpoint, RpcClientSecurity security)
    {
        NtlmCredential credential = NtlmCredential.From(security.Credential!);
        NtlmClientOptions options = new()
        {
            TargetName = security.ServicePrincipalName ?? $"host/{endpoint.Host}",
            Workstation = Environment.MachineName,
        };
        Func<SecurityContext> ntlm = () => new NtlmClientContext(credential, options);
        string user = credential.Domain.Length == 0 ? credential.User : $@"{credential.Domain}\{credential.User}";
        return security.Mechanism switch
        {
            RpcMechanism.Kerberos => throw ClientSecurityErrors.NoKerberos(endpoint),
            RpcMechanism.Negotiate => new ClientLogin(
                SecurityPackage.Negotiate, security.ProtectionLevel, user,
                () => new SpnegoClientContext([new SpnegoMechanism(SpnegoOid.Ntlm, ntlm)])),
            _ => new ClientLogin(SecurityPackage.Ntlm, security.ProtectionLevel, user, ntlm),
        };
    }

    private static void Check(RpcClientSecurity security)
    {
        if (!Enum.IsDefined(security.Authentication))
        {
            throw ClientSecurityErrors.Invalid(nameof(RpcClientSecurity.Authentication), security.Authentication);
        }

        if (!Enum.IsDefined(security.Mechanism))
        {
            throw ClientSecurityErrors.Invalid(nameof(RpcClientSecurity.Mechanism), security.Mechanism);
        }

        if (!Enum.IsDefined(security.ProtectionLevel) || security.ProtectionLevel == RpcProtectionLevel.None)
        {
            throw ClientSecurityErrors.Invalid(nameof(RpcClientSecurity.ProtectionLevel), security.ProtectionLevel);
        }

        // The original took a missing credential for the own account, and a needless one for nothing.
        bool needsCredential = security.Authentication == RpcClientAuthentication.User;
        if (needsCredential != security.Credential is { UserName.Length: > 0 })
        {
            throw ClientSecurityErrors.Credential(security.Authentication);
        }
    }
}
