using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.Schema;

namespace ProtoRpc;

/// <summary>The base of cmdlets that list the contents of a schema or a connection.</summary>
public abstract class RpcDescribeCommand : RpcCmdlet
{
    protected const string ByConnection = "Connection";
    protected const string BySchema = "Schema";

    private protected RpcDescribeCommand()
    {
    }

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter(Mandatory = true, ValueFromPipeline = true, ParameterSetName = BySchema)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    /// <summary>The schema to describe.</summary>
    protected RpcSchema ResolveSchema()
    {
        if (Schema is not null)
        {
            return Resolve(Schema);
        }

        RpcConnection connection = RunspaceStore.Current.Resolve(Connection, "-Schema");
        if (connection is { Schema: null, InterfaceId: null }
            && connection.Endpoint.Has(EndpointFeatures.Reflection))
        {
            // A lazy connection that has made no call yet has no schema.
            RpcSchema fetched = connection.Client.FetchSchema(null, Cancellation);
            foreach (string warning in fetched.Warnings)
            {
                WriteWarning(warning);
            }

            return fetched;
        }

        return connection.Schema ?? throw RpcErrors.NoSchema(connection);
    }

    /// <summary>The items whose full or bare name matches one of the names. A name without a match is an
    /// error.</summary>
    protected IEnumerable<T> Select<T>(
        IEnumerable<T> items, string[] names, string kind, Func<T, string> fullName, Func<T, string> bareName)
        where T : class
    {
        if (names.Length == 0)
        {
            return items;
        }

        List<T> all = [.. items];
        List<T> selected = [];
        foreach (string name in names)
        {
            WildcardPattern pattern = new(name, WildcardOptions.IgnoreCase);
            List<T> found = all.FindAll(
                item => pattern.IsMatch(fullName(item)) || pattern.IsMatch(bareName(item)));
            if (found.Count == 0 && !WildcardPattern.ContainsWildcardCharacters(name))
            {
                RpcException missing = FindOther(name)
                    ?? SchemaError.NameNotFound(kind, name, [.. all.Select(fullName)]);
                WriteError(RpcErrors.ToRecord(missing, name));
            }

            selected.AddRange(found);
        }

        return selected.Distinct();
    }

    /// <summary>The error for a name that means something else than the cmdlet finds; null if it means
    /// nothing.</summary>
    private protected virtual RpcException? FindOther(string name) => null;
}
