using System.Management.Automation;
using ProtoRpc.Calls;
using ProtoRpc.Schema;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsDiagnostic.Test, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcPingResult), typeof(bool))]
public sealed class TestRpcEndpointCommand : RpcEndpointCommand
{
    private const string ByConnection = "Connection";

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    public SwitchParameter Quiet { get; set; }

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            RpcClient client = RunspaceStore.Current.Resolve(Connection, "-Endpoint").Client;
            TryPing(client.Endpoint.ToString(), () => Report(client.Ping(Deadline, Cancellation)));
            return;
        }

        RpcSchema? schema = FindSchema();
        foreach (string endpoint in Endpoints)
        {
            Guard(endpoint, () => Ping(RpcEndpoint.Parse(endpoint), schema));
        }
    }

    // What was asked for wrongly says nothing about the endpoint, so it is an error with -Quiet too.
    private void Ping(RpcEndpoint endpoint, RpcSchema? schema)
    {
        CheckParameters(endpoint);
        RpcClientOptions options = CreateOptions();
        TryPing(endpoint.ToString(), () =>
        {
            using RpcClient client = RpcClient.Connect(endpoint, schema, options, Cancellation);
            Report(client.Ping(Deadline, Cancellation));
        });
    }

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
