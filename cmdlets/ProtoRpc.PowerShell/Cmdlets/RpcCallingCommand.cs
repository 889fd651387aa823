using System.Management.Automation;
using System.Security;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

/// <summary>The base of cmdlets that call methods over a connection or at endpoints. Adds the parameters for
/// the method, authentication and trust; an open connection already has the latter two.</summary>
public abstract class RpcCallingCommand : RpcConnectingCommand
{
    private protected const string ByConnection = "Connection";
    private protected const string ByEndpoint = "Endpoint";

    private protected RpcCallingCommand()
    {
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    [SchemaList]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ArgumentCompleter(typeof(InterfaceIdCompleter))]
    public Guid? InterfaceId { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateSet(typeof(HttpFormatNames))]
    public string Format { get; set; } = MessageFormats.Binary.Name;

    [Parameter(ParameterSetName = ByEndpoint)]
    public RpcCompression Compression { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateRange(ValidateRangeKind.Positive)]
    public int? MaxReceiveBytes { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    public override RpcClientAuthentication? Authentication
    {
        get => base.Authentication;
        set => base.Authentication = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Credential]
    [ValidateNotNull]
    public override PSCredential? Credential
    {
        get => base.Credential;
        set => base.Credential = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    public override SecureString? Token
    {
        get => base.Token;
        set => base.Token = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    public override RpcMechanism Mechanism
    {
        get => base.Mechanism;
        set => base.Mechanism = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateSet("Connect", "Packet", "Integrity", "Privacy")]
    public override RpcProtectionLevel ProtectionLevel
    {
        get => base.ProtectionLevel;
        set => base.ProtectionLevel = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(PrincipalCompleter))]
    public override string? ServicePrincipalName
    {
        get => base.ServicePrincipalName;
        set => base.ServicePrincipalName = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    public override string? ServerUser
    {
        get => base.ServerUser;
        set => base.ServerUser = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    public override SwitchParameter Tls
    {
        get => base.Tls;
        set => base.Tls = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    public override RpcCertificateSource[] CACertificate
    {
        get => base.CACertificate;
        set => base.CACertificate = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public override RpcCertificateSource? ClientCertificate
    {
        get => base.ClientCertificate;
        set => base.ClientCertificate = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(HostCompleter))]
    public override string? ServerName
    {
        get => base.ServerName;
        set => base.ServerName = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    public override SwitchParameter SkipCertificateCheck
    {
        get => base.SkipCertificateCheck;
        set => base.SkipCertificateCheck = value;
    }

    private protected override RpcClientOptions CreateOptions()
    {
        RpcClientOptions options = base.CreateOptions();
        return options with
        {
            Service = Service ?? Named?.Service,
            InterfaceId = InterfaceId ?? Named?.InterfaceId,
            Format = MessageFormats.Named(IsGiven(nameof(Format)) ? Format : Named?.Format ?? Format),
            Compression = IsGiven(nameof(Compression))
                ? Takes(nameof(Compression)) ? Compression : RpcCompression.None
                : Named?.Compression ?? RpcCompression.None,
            Limits = MaxReceiveBytes is { } size
                ? options.Limits with { MaxMessageBytes = size }
                : options.Limits,
        };
    }
}
