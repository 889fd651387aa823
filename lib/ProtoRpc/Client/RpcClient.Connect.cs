using System.Diagnostics;
using System.Runtime.CompilerServices;
using ProtoRpc.Client;

namespace ProtoRpc;

// Creates clients.
public sealed partial class RpcClient
{
    /// <summary>Connects to an endpoint, and binds to the service if it is known.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="schema">The schema for looking up names. Calls with generated messages need none; for
    /// gRPC servers, <see cref="FetchSchema"/> can read the server's.</param>
    /// <param name="options">The client's options, which are copied; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels connecting.</param>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded or Unimplemented. InvalidArgument: the
    /// endpoint is not valid. Cancelled: the token was cancelled while connecting.</exception>
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

    /// <summary>Connects to an endpoint, and binds to the service if it is known, without blocking the
    /// caller's thread.</summary>
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

    /// <summary>Connects to several servers with the same services. Each address of a host name is a server,
    /// and names are resolved again every 30 s. A call that does not reach a server goes to the next
    /// one.</summary>
    /// <param name="endpoints">The endpoints, all of the same kind.</param>
    /// <param name="balancing">Selects the server of a call.</param>
    /// <param name="schema">The schema for looking up names. Calls with generated messages need none; for
    /// gRPC servers, <see cref="FetchSchema"/> can read the server's.</param>
    /// <param name="options">The client's options, which are copied; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels connecting.</param>
    /// <exception cref="RpcException">Unavailable: no server can be reached. InvalidArgument: the
    /// endpoints are of different kinds.</exception>
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

    // A gRPC server's schema is only read after connecting.
    private static RpcServiceInfo? FirstService(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options) =>
        schema is null && endpoint.Has(EndpointFeatures.Reflection)
            ? null
            : ServiceOf(schema, options.Service);
}
