using System.Management.Automation;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsCommon.Get, "RpcConnection")]
[OutputType(typeof(RpcConnection))]
public sealed class GetRpcConnectionCommand : RpcCmdlet
{
    [Parameter(Position = 0)]
    public int[] Id { get; set; } = [];

    [Parameter]
    [SupportsWildcards]
    public string Endpoint { get; set; } = "*";

    protected override void Process()
    {
        // As a text that may have wildcards, so brackets of a string binding stand for themselves.
        string escaped = Endpoint.Replace("[", "`[").Replace("]", "`]");
        WildcardPattern pattern = new(escaped, WildcardOptions.IgnoreCase);
        WriteObject(
            RunspaceStore.Current.Connections.Where(connection =>
                (Id.Length == 0 || Id.Contains(connection.Id)) && pattern.IsMatch(connection.Endpoint.ToString())),
            enumerateCollection: true);
    }
}
