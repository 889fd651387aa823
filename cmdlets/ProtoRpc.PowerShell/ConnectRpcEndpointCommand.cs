using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsCommunications.Connect, "RpcEndpoint")]
[OutputType(typeof(RpcConnection))]
public sealed class ConnectRpcEndpointCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ValueFromPipelineByPropertyName = true)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(Position = 1, ValueFromPipelineByPropertyName = true)]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter]
    public Guid? InterfaceId { get; set; }

    [Parameter]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    protected override void Process()
    {
        RpcSchema? schema = Schema is null ? null : Resolve(Schema);
        RpcClientOptions options = new() { Limits = Limits, Service = Service, InterfaceId = InterfaceId };
        foreach (string endpoint in Endpoint)
        {
            Guard(endpoint, () => Connect(RpcEndpoint.Parse(endpoint), schema, options));
        }
    }

    private void Connect(RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options)
    {
        WriteVerbose($"Connecting to {endpoint}");
        RpcClient client = RpcClient.Connect(endpoint, schema, options, Cancellation);
        RunspaceStore store = RunspaceStore.Current;
        RpcConnection connection = new(store.NextId(), client);
        store.Add(connection);
        WriteObject(connection);
    }
}
