using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsDiagnostic.Test, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcPingResult), typeof(bool))]
public sealed class TestRpcEndpointCommand : RpcConnectionCommand
{
    private const string ByEndpoint = "Endpoint";

    private RpcSchema? _schema;

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(Position = 1, ParameterSetName = ByEndpoint)]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    public Guid? InterfaceId { get; set; }

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public override RpcConnection? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    public SwitchParameter Quiet { get; set; }

    private protected override string Alternative => "-Endpoint";

    protected override void Begin() => _schema = Schema is null ? null : Resolve(Schema);

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            Ping(ResolveConnection().Client);
            return;
        }

        RpcClientOptions options = new() { Service = Service, InterfaceId = InterfaceId };
        foreach (string endpoint in Endpoint)
        {
            TryPing(endpoint, () =>
            {
                using RpcClient client = RpcClient.Connect(RpcEndpoint.Parse(endpoint), _schema, options, Cancellation);
                Report(client.Ping(Deadline, Cancellation));
            });
        }
    }

    private void Ping(RpcClient client) =>
        TryPing(client.Endpoint.ToString(), () => Report(client.Ping(Deadline, Cancellation)));

    private void TryPing(string endpoint, Action ping)
    {
        try
        {
            ping();
        }
        catch (RpcException) when (Quiet && !Stopping)
        {
            WriteObject(false);
        }
        catch (RpcException e) when (!Stopping)
        {
            WriteError(RpcErrors.ToRecord(e, endpoint));
        }
    }

    // A server that answers, and says that it does not serve, is not well.
    private void Report(RpcPingResult result) =>
        WriteObject(Quiet ? result.Health is "" or "Serving" : result);
}
