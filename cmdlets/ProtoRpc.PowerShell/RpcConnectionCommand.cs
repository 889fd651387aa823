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
    protected RpcConnection ResolveConnection()
    {
        if (Connection is not null)
        {
            return Connection.IsOpen ? Connection : throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The connection to {Connection} was closed. Run Connect-RpcEndpoint again.")
            {
                ErrorId = "ConnectionClosed",
            };
        }

        IReadOnlyList<RpcConnection> open = RunspaceStore.Current.Connections;
        return open.Count switch
        {
            1 => open[0],
            0 => throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"There is no open connection. Run Connect-RpcEndpoint first, or give {Alternative}.")
            {
                ErrorId = "NoConnection",
            },
            _ => throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"There are {open.Count} open connections ({string.Join(", ", open.Take(5))}). "
                + "Say which with -Connection, or pipe it in.")
            {
                ErrorId = "AmbiguousConnection",
            },
        };
    }
}
