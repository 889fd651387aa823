using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsCommunications.Disconnect, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
public sealed class DisconnectRpcEndpointCommand : RpcCmdlet
{
    private const string ByConnection = "Connection";
    private const string ById = "Id";
    private const string ByKept = "Kept";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[] Connection { get; set; } = [];

    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ById)]
    [ArgumentCompleter(typeof(ConnectionIdCompleter))]
    public int[] Id { get; set; } = [];

    [Parameter(Mandatory = true, ParameterSetName = ByKept)]
    public SwitchParameter Kept { get; set; }

    protected override void Process()
    {
        if (Kept)
        {
            // Closed in parallel, because closing takes a while if the server does not answer.
            RunspaceStore store = RunspaceStore.Current;
            Task.Run(store.Clients.Clear).WaitAsync(Cancellation).GetAwaiter().GetResult();
            return;
        }

        IEnumerable<RpcConnection> connections = ParameterSetName == ById
            ? WithIds(RunspaceStore.Current.Connections, Id, connection => connection.Id, "connection")
            : Connection;
        foreach (RpcConnection connection in connections)
        {
            connection.Dispose();
        }
    }
}
