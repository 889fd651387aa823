using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

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
        HashSet<string> named = [];
        Guard(Endpoint, () => named = [.. FindEndpoints()]);
        WriteObject(
            (Id.Length == 0 ? open : WithIds(open, Id, connection => connection.Id, "connection"))
                .Where(connection => connection.Endpoints.Select(endpoint => endpoint.ToString())
                    .Any(text => pattern.IsMatch(text) || named.Contains(text))),
            enumerateCollection: true);
    }

    // The endpoints that -Endpoint stands for: an endpoint in another notation, or registered names.
    private IEnumerable<string> FindEndpoints()
    {
        bool hasWildcards = Endpoint.AsSpan().IndexOfAny('*', '?') >= 0;
        if (Endpoint == "*" || (hasWildcards && !RpcNamedEndpoint.MayBeName(Endpoint)))
        {
            return [];
        }

        // A pattern that no name matches may be a part of an endpoint, such as '*example*'.
        return hasWildcards
            ? RpcEndpointRegistry.OfUser.Find(Endpoint).Select(found => found.Endpoint.ToString())
            : EndpointTarget.Find([Endpoint]).Select(target => target.Require().ToString());
    }
}

[Cmdlet(VerbsCommunications.Disconnect, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
public sealed class DisconnectRpcEndpointCommand : RpcCmdlet
{
    private const string ByConnection = "Connection";
    private const string ById = "Id";
    private const string ByPooled = "Pooled";

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[] Connection { get; set; } = [];

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ById)]
    [ArgumentCompleter(typeof(ConnectionIdCompleter))]
    public int[] Id { get; set; } = [];

    [Parameter(Mandatory = true, ParameterSetName = ByPooled)]
    public SwitchParameter Pooled { get; set; }

    protected override void Process()
    {
        if (Pooled)
        {
            // Closed in parallel, because closing takes a while if the server does not answer.
            RunspaceStore store = RunspaceStore.Current;
            store.CloseStreamsOfEndpoints();
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

/// <summary>Offers the ids of the open connections of this runspace.</summary>
internal sealed class ConnectionIdCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound) =>
        RunspaceStore.Current.Connections.Select(
            connection => OfId(connection.Id, $"{connection.Endpoint} {connection.Service}"));
}
