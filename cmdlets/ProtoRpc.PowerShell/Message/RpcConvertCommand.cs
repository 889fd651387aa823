using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Parameters;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The base of cmdlets that convert messages. Adds the parameters for the schema.</summary>
public abstract class RpcConvertCommand : RpcCmdlet
{
    protected const string ByConnection = "Connection";
    protected const string BySchema = "Schema";

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    [AllowNull]
    [AllowEmptyCollection]
    public virtual object? InputObject { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter(Mandatory = true, ParameterSetName = BySchema)]
    [SchemaList]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    /// <summary>The schema for the conversion: the given one, the connection's, otherwise that of the only
    /// open connection.</summary>
    private protected RpcSchema FindSchema()
    {
        if (Schema is not null)
        {
            return Resolve(Schema);
        }

        RpcConnection connection = RunspaceStore.Current.Resolve(Connection, "-Schema");
        return connection.Schema ?? throw RpcErrors.NoSchema(connection);
    }
}
