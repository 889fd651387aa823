using ProtoRpc.PowerShell.Cmdlets;
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
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get => Own.Service; set => Own.Service = value; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [Parameter(ParameterSetName = ByListener)]
    [ValidateNotNull]
    [ConnectionOptionTable]
    [ArgumentCompleter(typeof(ConnectionOptionCompleter))]
    public override RpcConnectionOption? ConnectionOption
    {
        get => base.ConnectionOption;
        set => base.ConnectionOption = value;
    }

    /// <summary>The service that the command line names; null for none.</summary>
    private protected string? GivenService => CommandOption.Service;

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
        Service = Option.Service ?? (Listener?.Service is [string only] ? only : null),
        LoggerFactory = RunspaceStore.Current.Log,
        Trace = RunspaceStore.Current.Trace,
    };
}
