using System.Diagnostics;
using System.Runtime.CompilerServices;
using ProtoRpc.Client;

namespace ProtoRpc;

// How clients come about.
public sealed partial class RpcClient
{
    /// <summary>Connects, and binds where the service is known.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="schema">The schema that names are looked up in. Calls with generated messages need none;
    /// gRPC servers can be asked for theirs, see <see cref="FetchSchema"/>.</param>
    /// <param name="options">How the client behaves; a copy is kept. Null for the defaults.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, Unimplemented; InvalidArgument for the
    /// endpoint; Cancelled for a token that is cancelled meanwhile.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled.</exception>
    public static RpcClient Connect(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Reach(Create(endpoint, schema, options, cancellationToken), cancellationToken);

    /// <inheritdoc cref="Connect(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    [OverloadResolutionPriority(1)]
    public static RpcClient Connect(
        RpcEndpoint endpoint, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Connect(endpoint, schema: null, options, cancellationToken);

    /// <inheritdoc cref="Connect(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    public static RpcClient Connect(
        string endpoint, RpcSchema? schema, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Connect(RpcEndpoint.Parse(endpoint), schema, options, cancellationToken);

    /// <inheritdoc cref="Connect(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    [OverloadResolutionPriority(1)]
    public static RpcClient Connect(
        string endpoint, RpcClientOptions? options = null, CancellationToken cancellationToken = default) =>
        Connect(RpcEndpoint.Parse(endpoint), schema: null, options, cancellationToken);

    /// <summary>Connects, and binds where the service is known, without holding the caller's
    /// thread.</summary>
    /// <inheritdoc cref="Connect(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    public static Task<RpcClient> ConnectAsync(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ReachAsync(() => Create(endpoint, schema, options, cancellationToken), cancellationToken);

    /// <inheritdoc cref="ConnectAsync(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    [OverloadResolutionPriority(1)]
    public static Task<RpcClient> ConnectAsync(
        RpcEndpoint endpoint, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ConnectAsync(endpoint, schema: null, options, cancellationToken);

    /// <inheritdoc cref="ConnectAsync(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    public static Task<RpcClient> ConnectAsync(
        string endpoint, RpcSchema? schema, RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ReachAsync(
            () => Create(RpcEndpoint.Parse(endpoint), schema, options, cancellationToken), cancellationToken);

    /// <inheritdoc cref="ConnectAsync(RpcEndpoint, RpcSchema?, RpcClientOptions?, CancellationToken)"/>
    [OverloadResolutionPriority(1)]
    public static Task<RpcClient> ConnectAsync(
        string endpoint, RpcClientOptions? options = null, CancellationToken cancellationToken = default) =>
        ConnectAsync(endpoint, schema: null, options, cancellationToken);

    /// <summary>Connects to several servers that serve the same: a call that does not reach one goes to the
    /// next, and each address of a host name is a server. The names are looked up again every 30 s.</summary>
    /// <param name="endpoints">The endpoints, all of the same kind.</param>
    /// <param name="balancing">Which server gets a call.</param>
    /// <param name="schema">The schema that names are looked up in. Calls with generated messages need none;
    /// gRPC servers can be asked for theirs, see <see cref="FetchSchema"/>.</param>
    /// <param name="options">How the client behaves; a copy is kept. Null for the defaults.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="RpcException">Unavailable when none can be reached;
    /// InvalidArgument for endpoints of several kinds.</exception>
    public static RpcClient Connect(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing balancing,
        RpcSchema? schema = null,
        RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Reach(Create(endpoints, balancing, schema, options, cancellationToken), cancellationToken);

    /// <inheritdoc cref=
    /// "Connect(IReadOnlyList{RpcEndpoint}, RpcLoadBalancing, RpcSchema?,
    /// RpcClientOptions?, CancellationToken)"/>
    public static Task<RpcClient> ConnectAsync(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing balancing,
        RpcSchema? schema = null,
        RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ReachAsync(
            () => Create(endpoints, balancing, schema, options, cancellationToken), cancellationToken);

    private static RpcClient Create(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions? options, CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        cancellation.ThrowIfCancellationRequested();
        options = options?.Copy() ?? new RpcClientOptions();
        ClientOptionsCheck.Check(endpoint, options);
        options = ClientAuthorization.Apply(endpoint, options);
        RpcServiceInfo? service = FirstService(endpoint, schema, options);
        IRpcChannel channel = RpcChannels.Create(endpoint, service, options);
        return new RpcClient(endpoint, schema, service, channel, options);
    }

    private static RpcClient Create(
        IReadOnlyList<RpcEndpoint> endpoints, RpcLoadBalancing balancing, RpcSchema? schema,
        RpcClientOptions? options, CancellationToken cancellation)
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

        options = options?.Copy() ?? new RpcClientOptions();
        foreach (RpcEndpoint endpoint in endpoints)
        {
            ClientOptionsCheck.Check(endpoint, options);
        }

        options = ClientAuthorization.Apply(first, options);
        RpcServiceInfo? service = FirstService(first, schema, options);
        IRpcChannel channel = RpcChannels.CreateBalanced(endpoints, balancing, service, options);
        return new RpcClient(first, schema, service, channel, options);
    }

    private static RpcClient Reach(RpcClient client, CancellationToken cancellation)
    {
        if (client._options.Lazy)
        {
            return client;
        }

        long start = Stopwatch.GetTimestamp();
        try
        {
            client.Cancellable(
                () =>
                {
                    client._channel.Connect(cancellation);
                    return client;
                },
                cancellation);
            client._log?.Connect(client.Endpoint, Stopwatch.GetElapsedTime(start));
            return client;
        }
        catch (Exception e)
        {
            client._log?.FailToConnect(client.Endpoint, e);
            client.Dispose();
            throw;
        }
    }

    private static async Task<RpcClient> ReachAsync(Func<RpcClient> create, CancellationToken cancellation)
    {
        RpcClient client = create();
        if (client._options.Lazy)
        {
            return client;
        }

        long start = Stopwatch.GetTimestamp();
        try
        {
            await client.CancellableAsync(
                async () =>
                {
                    await client._channel.ConnectAsync(cancellation).ConfigureAwait(false);
                    return client;
                },
                cancellation).ConfigureAwait(false);
            client._log?.Connect(client.Endpoint, Stopwatch.GetElapsedTime(start));
            return client;
        }
        catch (Exception e)
        {
            client._log?.FailToConnect(client.Endpoint, e);
            await client.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    // A gRPC server is asked for its schema once there is a connection.
    private static RpcServiceInfo? FirstService(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options) =>
        schema is null && endpoint.Has(EndpointFeatures.Reflection)
            ? null
            : ServiceOf(schema, options.Service);
}
