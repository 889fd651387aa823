using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcConnection")]
[OutputType(typeof(RpcConnection))]
public sealed class GetRpcConnectionCommand : RpcCmdlet
{
    [Parameter(Position = 0)]
    [ArgumentCompleter(typeof(ConnectionIdCompleter))]
    public int[] Id { get; set; } = [];

    [Parameter]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string Endpoint { get; set; } = "*";

    protected override void Process()
    {
        // The filter accepts wildcards, so the brackets of string bindings are escaped.
        string escaped = Endpoint.Replace("[", "`[").Replace("]", "`]");
        WildcardPattern pattern = new(escaped, WildcardOptions.IgnoreCase);
        IReadOnlyList<RpcConnection> open = RunspaceStore.Current.Connections;
        WriteObject(
            (Id.Length == 0 ? open : WithIds(open, Id, connection => connection.Id, "connection"))
                .Where(connection => pattern.IsMatch(connection.Endpoint.ToString())),
            enumerateCollection: true);
    }
}
