using System.Collections;
using System.Management.Automation;
using System.Security;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

// The parameters for authentication and trust. They do not apply to an open connection.
public abstract partial class RpcEndpointCommand
{
    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public override RpcClientAuthentication? Authentication
    {
        get => base.Authentication;
        set => base.Authentication = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [Credential]
    [ValidateNotNull]
    public override PSCredential? Credential
    {
        get => base.Credential;
        set => base.Credential = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNull]
    public override SecureString? Token
    {
        get => base.Token;
        set => base.Token = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public override RpcMechanism Mechanism
    {
        get => base.Mechanism;
        set => base.Mechanism = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public override RpcProtectionLevel ProtectionLevel
    {
        get => base.ProtectionLevel;
        set => base.ProtectionLevel = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public override string? ServicePrincipalName
    {
        get => base.ServicePrincipalName;
        set => base.ServicePrincipalName = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    public override string? ServerUser
    {
        get => base.ServerUser;
        set => base.ServerUser = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public override SwitchParameter Tls
    {
        get => base.Tls;
        set => base.Tls = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    public override RpcCertificateSource[] CACertificate
    {
        get => base.CACertificate;
        set => base.CACertificate = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public override RpcCertificateSource? ClientCertificate
    {
        get => base.ClientCertificate;
        set => base.ClientCertificate = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HostCompleter))]
    public override string? ServerName
    {
        get => base.ServerName;
        set => base.ServerName = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    public override SwitchParameter SkipCertificateCheck
    {
        get => base.SkipCertificateCheck;
        set => base.SkipCertificateCheck = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public override IDictionary? Header
    {
        get => base.Header;
        set => base.Header = value;
    }
}
