using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The base of cmdlets that connect to endpoints, or to those of listeners of the session.</summary>
public abstract partial class RpcEndpointCommand : RpcConnectingCommand
{
    protected const string ByEndpoint = "Endpoint";
    protected const string ByListener = "Listener";

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
    public Guid? InterfaceId { get; set; }

    /// <summary>The endpoints, as text.</summary>
    private protected IReadOnlyCollection<string> Endpoints =>
        Listener is null ? Endpoint : [.. Listener.Endpoint.Select(endpoint => endpoint.ToString())];

    private protected RpcSchema? FindSchema() => Schema is null ? Listener?.Schema : Resolve(Schema);

    /// <summary>Refuses what was given and means nothing to an endpoint,
    /// or ignores it for one of several.</summary>
    /// <exception cref="RpcException">InvalidArgument.</exception>
    private protected void CheckParameters(RpcEndpoint endpoint, bool isRaw = false)
    {
        CheckParameters(endpoint, ParsedEndpoints(), isRaw);
    }

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, ParsedEndpoints());

    private List<RpcEndpoint> ParsedEndpoints()
    {
        List<RpcEndpoint> all = [];
        foreach (string text in Endpoints)
        {
            try
            {
                all.Add(RpcEndpoint.Parse(text));
            }
            catch (RpcException)
            {
                // What is no endpoint takes no parameter, and is told when its turn comes.
            }
        }

        return all;
    }

    // A listener's schema may have more services than the listener.
    private protected override RpcClientOptions CreateOptions() => base.CreateOptions() with
    {
        Service = Service ?? (Listener?.Service is [string only] ? only : null),
        InterfaceId = InterfaceId,
        DebugLog = RunspaceStore.Current.DebugLog.Add,
        Trace = RunspaceStore.Current.Trace,
    };
}
