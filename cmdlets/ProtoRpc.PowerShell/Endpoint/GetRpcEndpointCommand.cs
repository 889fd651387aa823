using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcEndpoint")]
[OutputType(typeof(RpcNamedEndpoint))]
public sealed class GetRpcEndpointCommand : RpcCmdlet
{
    [Parameter(Position = 0, ValueFromPipeline = true)]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(EndpointNameCompleter))]
    public string[] Name { get; set; } = ["*"];

    [Parameter]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(TagCompleter))]
    public string? Tag { get; set; }

    protected override void Process()
    {
        RpcEndpointRegistry registry = RpcEndpointRegistry.OfUser;
        foreach (string name in Name)
        {
            Guard(name, () => Write(registry, name));
        }
    }

    private void Write(RpcEndpointRegistry registry, string name)
    {
        IReadOnlyList<RpcNamedEndpoint> found = registry.Find(name, Tag);
        if (found.Count == 0 && Tag is null && !WildcardPattern.ContainsWildcardCharacters(name))
        {
            WriteError(RpcErrors.ToRecord(registry.NotFound(name), name));
        }

        WriteObject(found, enumerateCollection: true);
    }
}
