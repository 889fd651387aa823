namespace ProtoRpc.PowerShell;

/// <summary>The base of cmdlets that use a connection: the given one, or the runspace's only one.</summary>
public abstract class RpcConnectionCommand : RpcCmdlet
{
    protected const string ByConnection = "Connection";

    /// <summary>The connection that was given.</summary>
    public abstract RpcConnection? Connection { get; set; }

    /// <summary>The parameters that would do instead of the only open connection.</summary>
    private protected virtual string Alternative => "-Connection";

    /// <summary>The connection to use.</summary>
    /// <exception cref="RpcException">FailedPrecondition when none was given and there is not exactly one.</exception>
    protected RpcConnection ResolveConnection() => RunspaceStore.Current.Resolve(Connection, Alternative);
}
