using System.Management.Automation;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The base of cmdlets that act on listeners, given as objects or by id.</summary>
public abstract class RpcListenerCommand : RpcCmdlet
{
    protected const string ByListener = "Listener";
    protected const string ById = "Id";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener[] Listener { get; set; } = [];

    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ById)]
    [ArgumentCompleter(typeof(ListenerIdCompleter))]
    public int[] Id { get; set; } = [];

    /// <summary>The given listeners. An id that no listener has is an error.</summary>
    protected IReadOnlyList<RpcListener> ResolveListeners() =>
        ParameterSetName == ByListener
            ? Listener
            : WithIds(RunspaceStore.Current.Listeners, Id, l => l.Id, "listener");
}
