using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Unregister, "RpcEndpoint", SupportsShouldProcess = true)]
public sealed class UnregisterRpcEndpointCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ValidateNotNullOrEmpty]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(EndpointNameCompleter))]
    public string[] Name { get; set; } = [];

    protected override void Process()
    {
        RpcEndpointRegistry registry = RpcEndpointRegistry.OfUser;
        foreach (string name in Name)
        {
            Guard(name, () => Remove(registry, name));
        }
    }

    private void Remove(RpcEndpointRegistry registry, string name)
    {
        IReadOnlyList<RpcNamedEndpoint> found = registry.Find(name);
        if (found.Count == 0 && !WildcardPattern.ContainsWildcardCharacters(name))
        {
            WriteError(RpcErrors.ToRecord(registry.NotFound(name), name));
        }

        foreach (RpcNamedEndpoint endpoint in found)
        {
            if (ShouldProcess($"'{endpoint.Name}' in '{registry.Path}'", "Unregister"))
            {
                registry.Unregister(endpoint.Name);
            }
        }
    }
}
