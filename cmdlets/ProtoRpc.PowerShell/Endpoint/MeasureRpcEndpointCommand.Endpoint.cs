using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc;

// The endpoints to call, and the number of connections.
public sealed partial class MeasureRpcEndpointCommand
{
    private readonly List<RpcEndpoint> _endpoints = [];
    private RpcSchema? _given;

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [NoConnection]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public override IDictionary? Header
    {
        get => base.Header;
        set => base.Header = value;
    }

    private protected override RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) =>
        SchemaOptionsFor(endpoint, _endpoints);

    private protected override RpcClientOptions CreateOptions()
    {
        RpcClientOptions options = base.CreateOptions();
        int callers = (Concurrency + Connections - 1) / Connections;
        return options with
        {
            Limits = options.Limits with
            {
                MaxClientConnections = Math.Max(options.Limits.MaxClientConnections, callers),
            },
        };
    }
}
