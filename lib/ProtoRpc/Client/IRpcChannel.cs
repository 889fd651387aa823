using System.Net;
using System.Reflection;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Schema;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Client;

/// <summary>Provides the channel for each attempt of a call: the channel to the only server, or a <see
/// cref="BackendPicker"/> for several.</summary>
internal interface IChannelSource : IDisposable, IAsyncDisposable
{
    /// <summary>The side channel. It is sent with every call; a reply may replace it.</summary>
    RpcCallContext Context { get; set; }

    ValueTask IAsyncDisposable.DisposeAsync() => new(Task.Run(Dispose));
}

/// <summary>A client's connection to an endpoint: over the native protocol, HTTP or gRPC.</summary>
/// <remarks>Operations for which the system only has a blocking form, such as connecting and resolving names,
/// run on the thread pool if the caller does not block.</remarks>
internal interface IRpcChannel : IChannelSource
{
    /// <summary>Connects, so that an unreachable server is reported now. Otherwise the first call
    /// connects.</summary>
    /// <exception cref="RpcException">Unavailable, DeadlineExceeded, or the reason why the server rejects the
    /// client.</exception>
    ValueTask ConnectAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode;

    /// <summary>Makes a call.</summary>
    ValueTask<TReply> InvokeAsync<TWait, TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode;

    /// <summary>Makes a call whose request is read from a stream.</summary>
    ValueTask<TReply> UploadAsync<TWait, TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
        where TWait : struct, IWaitMode;

    /// <summary>Begins a streaming call.</summary>
    IRpcStream Open(CallSpec call, CancellationToken cancellation);

    /// <summary>Reads the schema of the server.</summary>
    /// <exception cref="RpcException">Unimplemented: the server or protocol has no reflection.</exception>
    ValueTask<RpcSchema> FetchSchemaAsync<TWait>(CancellationToken cancellation)
        where TWait : struct, IWaitMode;

    /// <summary>Reads the server's declaration of services in the client's schema.</summary>
    /// <returns>A schema that may lack some of the services; null if the server has no reflection.</returns>
    ValueTask<RpcSchema?> FetchSchemaAsync<TWait>(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation)
        where TWait : struct, IWaitMode;

    /// <summary>Reads the files that declare some symbols, with their imports.</summary>
    /// <returns>Null if the server does not declare one of them, or cannot be asked for symbols.</returns>
    ValueTask<RpcSchema?> FetchSymbolsAsync<TWait>(SymbolQuery query, CancellationToken cancellation)
        where TWait : struct, IWaitMode => default;

    /// <summary>Pings the server.</summary>
    /// <exception cref="RpcException">The server did not reply. NotFound: it does not have the requested
    /// service.</exception>
    ValueTask<RpcPingResult> PingAsync<TWait>(PingSpec ping, CancellationToken cancellation)
        where TWait : struct, IWaitMode;
}

/// <summary>The parameters of a ping.</summary>
/// <param name="Through">The service through which native endpoints are pinged; null to only check whether a
/// server replies.</param>
/// <param name="Service">The full name of the service that the server must serve; null for any.</param>
/// <param name="Timeout">How long the caller waits.</param>
internal readonly record struct PingSpec(RpcServiceInfo? Through, string? Service, TimeSpan Timeout)
{
    /// <summary>The request for the server's ping handlers; null for none.</summary>
    public IMessage? Request { get; init; }

    /// <summary>Whether the ping has a request. If so, a server that does not reply to pings is an error,
    /// even if it is reachable.</summary>
    public bool IsAsking => Request is not null;

    /// <summary>The message to send.</summary>
    public IMessage Message => Request ?? new RpcPingRequest();
}

/// <summary>A call: the method, its time and its options.</summary>
/// <param name="Method">The method.</param>
/// <param name="Clock">The deadline and the cancellation of the call. Its time starts with the first
/// attempt.</param>
internal readonly record struct CallSpec(RpcMethodInfo Method, CallClock Clock)
{
    /// <summary>A call whose time starts now.</summary>
    public CallSpec(RpcMethodInfo method, TimeSpan timeout)
        : this(method, CallClock.Start(timeout))
    {
    }

    /// <summary>Receives the progress of a large request, or null.</summary>
    public IProgress<RpcProgress>? Progress { get; init; }

    /// <summary>The headers, compression and other options of the call; null for none.</summary>
    public RpcCallOptions? Options { get; init; }

    /// <summary>Keeps the request for retries; null if the call is not retried.</summary>
    public ReplayBuffer? Replay { get; init; }

    /// <summary>The number of retries before this attempt, which gRPC servers receive.</summary>
    public int PreviousAttempts { get; init; }

    /// <summary>Creates a call from its options. Without a timeout, the limit's call timeout applies to unary
    /// calls.</summary>
    /// <exception cref="RpcException">DeadlineExceeded: the deadline has already passed. FailedPrecondition:
    /// the server did not send a file of the schema that the method needs.</exception>
    public static CallSpec Create(
        RpcMethodInfo method, RpcCallOptions? options, RpcLimits limits, RpcEndpoint endpoint) =>
        method.Problem is { } problem
            ? throw Incomplete(method, problem, endpoint)
            : new(method, CallDeadline.Start(options, method.IsUnary ? limits.CallTimeout : null, endpoint))
            {
                Options = options,
                Progress = options?.Progress,
            };

    private static RpcException Incomplete(RpcMethodInfo method, string problem, RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.SchemaIncomplete,
        $"{method.FullName} cannot be called. {problem} Give a schema with the method: its .proto files or "
        + "a descriptor set.", endpoint)
    {
        MethodName = method.FullName,
    };
}

/// <summary>A streaming call, on the client. Disposing it before its end cancels the call on the
/// server.</summary>
/// <remarks>You can send and read in parallel, but only one send and one read at a time.</remarks>
internal interface IRpcStream : IAsyncDisposable
{
    /// <summary>The server of the call, if the client has several; otherwise null.</summary>
    RpcEndpoint? Endpoint => null;

    /// <summary>The last reply; valid until the next read.</summary>
    ReplyBody Current { get; }

    /// <summary>Sends a message. Waits while the server does not accept more.</summary>
    /// <param name="message">The message.</param>
    /// <param name="compress">Whether to compress the message, if the call uses compression.</param>
    /// <returns>False if the server has ended the call. Reading then reports how it ended.</returns>
    ValueTask<bool> SendAsync(IMessage message, bool compress);

    /// <summary>Ends the request stream.</summary>
    ValueTask CompleteAsync();

    /// <summary>Waits for the next message.</summary>
    /// <returns>False if the call has ended successfully.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    ValueTask<bool> ReadAsync();
}

/// <summary>Registers a channel in <see cref="RpcChannels"/>, at the beginning of the channel's file. So a
/// new channel needs no change in other files.</summary>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class RpcChannelAttribute : Attribute
{
    public abstract bool Reaches(EndpointKindAttribute kind);

    public abstract IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options);
}

/// <inheritdoc/>
/// <typeparam name="TChannel">The channel.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class RpcChannelAttribute<TChannel> : RpcChannelAttribute
    where TChannel : IRpcChannelMaker
{
    public override bool Reaches(EndpointKindAttribute kind) => TChannel.Reaches(kind);

    public override IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        TChannel.Create(endpoint, service, options);
}

/// <summary>Creates channels to some kinds of endpoints.</summary>
internal interface IRpcChannelMaker
{
    /// <summary>Whether the channels support a kind of endpoint.</summary>
    static abstract bool Reaches(EndpointKindAttribute kind);

    /// <summary>Creates a channel, which connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service of the first call, or null.</param>
    /// <param name="options">The client's options.</param>
    static abstract IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options);
}

/// <summary>Selects the channel for a kind of endpoint.</summary>
internal static class RpcChannels
{
    /// <summary>The registered channels.</summary>
    public static IReadOnlyList<RpcChannelAttribute> All { get; } =
        [.. typeof(RpcChannels).Assembly.GetCustomAttributes<RpcChannelAttribute>()];

    /// <summary>Creates a channel, which connects with its first call.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="service">The service of the first call, or null.</param>
    /// <param name="options">The client's options.</param>
    public static IRpcChannel Create(
        RpcEndpoint endpoint, RpcServiceInfo? service, RpcClientOptions options) =>
        All.FirstOrDefault(channel => channel.Reaches(endpoint.Kind))
            ?.Create(endpoint, service, options)
        ?? throw new RpcException(
            RpcStatusCode.Unimplemented,
            $"This client does not support {endpoint.Transport} endpoints.", endpoint);

    /// <summary>Creates the picker of a client with several servers of the same kind.</summary>
    /// <param name="endpoints">The endpoints; each address of a host is a server.</param>
    /// <param name="policy">Selects the server of a call.</param>
    /// <param name="service">The service of the first call, or null.</param>
    /// <param name="options">The client's options.</param>
    public static BackendPicker CreatePicker(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing policy,
        RpcServiceInfo? service,
        RpcClientOptions options) => new(
            policy,
            new AddressResolver(endpoints, HostLookup.Find),
            options.Limits.ConnectTimeout,
            resolved => Create(resolved.Endpoint, service, ForHost(options, resolved)));

    /// <summary>Says how to call a method that streams.</summary>
    public static string StreamingHint(RpcMethodInfo method)
    {
        string name = !method.IsClientStreaming ? nameof(RpcClient.InvokeServerStreamAsync)
            : method.IsServerStreaming ? nameof(RpcClient.InvokeDuplexStreamAsync)
            : nameof(RpcClient.InvokeClientStreamAsync);
        return $"{method.FullName} streams; call it with {nameof(RpcClient)}.{name} or "
            + $"{nameof(RpcClient)}.{nameof(RpcClient.Open)}.";
    }

    // Certificates, Kerberos tickets and the exceptions of proxies are for host names, not for the resolved
    // address.
    private static RpcClientOptions ForHost(RpcClientOptions options, ResolvedEndpoint resolved) =>
        resolved.Endpoint.Host == resolved.Host
            ? options
            : options with
            {
                Tls = options.Tls with { ServerName = options.Tls.ServerName ?? resolved.Host },
                Security = resolved.Endpoint.Has(EndpointFeatures.Interfaces)
                    && options.Security.Authentication > RpcClientAuthentication.Anonymous
                        ? options.Security with
                        {
                            ServicePrincipalName =
                                options.Security.ServicePrincipalName ?? $"host/{resolved.Host}",
                        }
                        : options.Security,
                Proxy = resolved.Endpoint.IsOverHttp || resolved.Endpoint.IsGrpc
                    ? new NamedServerProxy(
                        options.Proxy ?? EnvironmentProxy.Create(resolved.Endpoint.IsGrpc), resolved.Host)
                    : options.Proxy,
            };
}

/// <summary>The proxy of a server that is called by a resolved address. Rules such as NO_PROXY are for host
/// names, so they also decide about the configured one.</summary>
/// <param name="rules">The proxy and its exceptions.</param>
/// <param name="configured">The configured host.</param>
internal sealed class NamedServerProxy(IWebProxy rules, string configured) : IWebProxy
{
    public ICredentials? Credentials
    {
        get => rules.Credentials;
        set => throw new NotSupportedException();
    }

    public Uri? GetProxy(Uri destination)
    {
        if (IsBypassed(destination))
        {
            return null;
        }

        Uri named = Named(destination);
        return rules.GetProxy(named) is { } proxy && proxy != named ? proxy : null;
    }

    public bool IsBypassed(Uri host) => rules.IsBypassed(host) || rules.IsBypassed(Named(host));

    private Uri Named(Uri address) => new UriBuilder(address) { Host = configured }.Uri;
}
