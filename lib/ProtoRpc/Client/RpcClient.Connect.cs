using ProtoRpc.Client;

namespace ProtoRpc;

// How clients come about.
public sealed partial class RpcClient
{
    /// <summary>Connects, and binds where the service is known.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Unimplemented; InvalidArgument for the
    /// endpoint; Cancelled for a token that is cancelled meanwhile.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled.</exception>
    public static RpcClient Connect(
        RpcEndpoint endpoint, RpcSchema? schema = null,
        RpcClientOptions? options = null, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        cancellation.ThrowIfCancellationRequested();
        options ??= new RpcClientOptions();
        ClientOptionsCheck.Check(endpoint, options);
        options = ClientAuthorization.Apply(endpoint, options);
        RpcServiceInfo? service = FirstService(endpoint, schema, options);
        IRpcChannel channel = RpcChannels.Create(endpoint, service, options);
        return Connect(new RpcClient(endpoint, schema, service, channel, options), cancellation);
    }

    /// <summary>Connects to several servers that serve the same: a call that does not reach one goes to the
    /// next, and each address of a host name is a server. The names are looked up again every 30 s.</summary>
    /// <param name="endpoints">The endpoints, all of the same kind.</param>
    /// <param name="balancing">Which server gets a call.</param>
    /// <param name="schema">The schema; of gRPC servers it can be asked for.</param>
    /// <param name="options">How the client behaves.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">Unavailable when none can be reached;
    /// InvalidArgument for endpoints of several kinds.</exception>
    public static RpcClient Connect(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing balancing,
        RpcSchema? schema = null,
        RpcClientOptions? options = null,
        CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentOutOfRangeException.ThrowIfZero(endpoints.Count);
        ArgumentOutOfRangeException.ThrowIfEqual(balancing, RpcLoadBalancing.None);
        cancellation.ThrowIfCancellationRequested();
        RpcEndpoint first = endpoints[0];
        if (endpoints.FirstOrDefault(endpoint => endpoint.Transport != first.Transport) is { } other)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"'{first}' and '{other}' are of different kinds; "
                + "one connection balances between endpoints of one kind.")
            {
                ErrorId = RpcErrorIds.MixedEndpoints,
                Endpoint = other,
            };
        }

        options ??= new RpcClientOptions();
        foreach (RpcEndpoint endpoint in endpoints)
        {
            ClientOptionsCheck.Check(endpoint, options);
        }

        options = ClientAuthorization.Apply(first, options);
        RpcServiceInfo? service = FirstService(first, schema, options);
        IRpcChannel channel = RpcChannels.CreateBalanced(endpoints, balancing, service, options);
        return Connect(new RpcClient(first, schema, service, channel, options), cancellation);
    }

    /// <inheritdoc cref="Connect(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    public static RpcClient Connect(
        string endpoint, RpcSchema? schema = null, RpcClientOptions? options = null) =>
        Connect(RpcEndpoint.Parse(endpoint), schema, options);

    private static RpcClient Connect(RpcClient client, CancellationToken cancellation)
    {
        if (client._options.Lazy)
        {
            return client;
        }

        try
        {
            return client.Cancellable(
                () =>
                {
                    client._channel.Connect(cancellation);
                    return client;
                },
                cancellation);
        }
        catch
        {
            client.Dispose();
            throw;
        }
    }

    // A gRPC server is asked for its schema once there is a connection.
    private static RpcServiceInfo? FirstService(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options) =>
        schema is null && endpoint.IsGrpc ? null : ServiceOf(schema, options.Service);

    private static RpcServiceInfo? ServiceOf(RpcSchema? schema, string? name)
    {
        if (schema is null)
        {
            return name is null
                ? null
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    $"Service '{name}' cannot be looked up without a schema.");
        }

        return name is not null ? schema.GetService(name)
            : schema.Services.Count == 1 ? schema.Services[0]
            : null;
    }
}
