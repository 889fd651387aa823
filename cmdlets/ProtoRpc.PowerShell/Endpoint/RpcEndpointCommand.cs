using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The base of cmdlets that connect to endpoints, or to those of listeners of the session.</summary>
public abstract partial class RpcEndpointCommand : RpcConnectingCommand
{
    protected const string ByEndpoint = "Endpoint";
    protected const string ByListener = "Listener";

    private IReadOnlyList<EndpointTarget>? _targets;

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public virtual string[] Endpoint { get; set; } = [];

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener? Listener { get; set; }

    [Parameter(Position = 1, ParameterSetName = ByEndpoint)]
    [Parameter(Position = 1, ParameterSetName = ByListener)]
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

    /// <summary>What the endpoints lead to, registered names included.</summary>
    private protected IReadOnlyList<EndpointTarget> FindTargets() => Listener is null
        ? _targets = EndpointTarget.Find(Endpoint)
        : [.. Listener.Endpoint.Select(endpoint => new EndpointTarget(endpoint.ToString(), endpoint))];

    /// <summary>The schema for a target: the one that was given, else the registered one, else the
    /// listener's.</summary>
    /// <param name="target">The target.</param>
    /// <param name="given">What <see cref="FindSchema"/> found.</param>
    private protected RpcSchema? SchemaOf(EndpointTarget target, RpcSchema? given) =>
        given ?? NamedSchema(target);

    private protected RpcSchema? FindSchema()
    {
        // That of the pipeline's object before.
        ForgetNamed();
        return Schema is null ? Listener?.Schema : Resolve(Schema);
    }

    /// <summary>Rejects parameters that do not apply to an endpoint,
    /// or ignores them for one of several.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(RpcEndpoint endpoint, bool isRaw = false)
    {
        CheckParameters(endpoint, ParsedEndpoints(), isRaw);
    }

    /// <summary>The same for an endpoint or a registered name, whose options are used from then on.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(EndpointTarget target, bool isRaw = false)
    {
        CheckParameters(target, ParsedEndpoints(), isRaw);
    }

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, ParsedEndpoints());

    // A text that is not an endpoint has no parameters. Its error is written when its turn comes.
    private List<RpcEndpoint> ParsedEndpoints() => Listener is null
        ? [.. (_targets ?? FindTargets()).Select(target => target.Endpoint).OfType<RpcEndpoint>()]
        : [.. Listener.Endpoint];

    // A listener's schema may have more services than the listener.
    private protected override RpcClientOptions CreateOptions() => base.CreateOptions() with
    {
        Service = Service ?? Named?.Service ?? (Listener?.Service is [string only] ? only : null),
        InterfaceId = InterfaceId ?? Named?.InterfaceId,
        LoggerFactory = RunspaceStore.Current.Log,
        Trace = RunspaceStore.Current.Trace,
    };
}
