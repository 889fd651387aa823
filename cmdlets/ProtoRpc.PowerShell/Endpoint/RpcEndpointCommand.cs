using System.Collections;
using System.Management.Automation;
using System.Security;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

/// <summary>The base of cmdlets that connect to endpoints, or to those of listeners of the session.</summary>
public abstract class RpcEndpointCommand : RpcConnectingCommand
{
    protected const string ByEndpoint = "Endpoint";
    protected const string ByListener = "Listener";

    private IReadOnlyList<EndpointTarget>? _targets;
    private RpcSchema? _given;

    private protected RpcEndpointCommand()
    {
    }

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public virtual string[] Endpoint { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener? Listener { get; set; }

    [Parameter(Position = 1, ParameterSetName = ByEndpoint)]
    [Parameter(Position = 1, ParameterSetName = ByListener)]
    [SchemaList]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(InterfaceIdCompleter))]
    public Guid? InterfaceId { get; set; }

    /// <summary>The endpoints, as text.</summary>
    private protected IReadOnlyCollection<string> Endpoints =>
        Listener is null ? Endpoint : [.. Listener.Endpoint.Select(endpoint => endpoint.ToString())];

    /// <summary>The targets of the endpoints, including registered names.</summary>
    private protected IReadOnlyList<EndpointTarget> FindTargets() => Listener is null
        ? _targets = EndpointTarget.Find(Endpoint)
        : [.. Listener.Endpoint.Select(endpoint => new EndpointTarget(endpoint.ToString(), endpoint))];

    /// <summary>The schema for a target: the given one, otherwise the registered one, otherwise the
    /// listener's.</summary>
    /// <param name="target">The target.</param>
    /// <param name="given">The result of <see cref="FindSchema"/>.</param>
    private protected RpcSchema? SchemaOf(EndpointTarget target, RpcSchema? given) =>
        given ?? NamedSchema(target);

    private protected RpcSchema? FindSchema()
    {
        // Clears the name of the previous pipeline object.
        ForgetNamed();
        // Read once: its files do not change between two endpoints of the pipeline.
        return Schema is null ? Listener?.Schema : _given ??= Resolve(Schema);
    }

    /// <summary>Checks the parameters for an endpoint or a registered name. The options of the name apply
    /// from then on.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(EndpointTarget target, bool isRaw = false)
    {
        CheckParameters(target, ParsedEndpoints(), isRaw);
    }

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, ParsedEndpoints());

    // A text that is not an endpoint is skipped here. Its error is written when it is processed.
    private List<RpcEndpoint> ParsedEndpoints() => Listener is null
        ? [.. (_targets ?? FindTargets()).Select(target => target.Endpoint).OfType<RpcEndpoint>()]
        : [.. Listener.Endpoint];

    // A listener's schema may define more services than the listener serves.
    private protected override RpcClientOptions CreateOptions() => base.CreateOptions() with
    {
        Service = Service ?? Named?.Service ?? (Listener?.Service is [string only] ? only : null),
        InterfaceId = InterfaceId ?? Named?.InterfaceId,
        LoggerFactory = RunspaceStore.Current.Log,
        Trace = RunspaceStore.Current.Trace,
    };

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
