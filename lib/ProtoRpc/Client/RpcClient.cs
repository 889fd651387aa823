using System.Diagnostics;
using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using ProtoRpc.Client;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Client.Retries;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>Calls services at one endpoint. Thread-safe.</summary>
/// <remarks>
/// <para>A method is given as <see cref="RpcMethodInfo"/>, or by its bare (<c>Place</c>) or full name
/// (<c>shop.Orders/Place</c>). A request is a generated message, a <see cref="DynamicMessage"/>, or an object
/// or dictionary whose members are the fields; see <see cref="MessageMapper"/>. Names are looked up in the
/// client's schema. Generated messages provide the schema of the files that declare them.</para>
/// <para>If a connection breaks, the next call reconnects. A call that may have reached the server is never
/// sent twice.</para>
/// <para>If a token is already cancelled, every method throws <see cref="OperationCanceledException"/> with
/// that token, and sends nothing. If a token is cancelled later, the call fails with an <see
/// cref="RpcException"/> of status Cancelled; <see cref="RpcException.MayHaveExecuted"/> says whether the
/// server may have run it. A deadline that passes is always an <see cref="RpcException"/> of status
/// DeadlineExceeded.</para>
/// </remarks>
/// <example><code>
/// await using RpcClient client = await RpcClient.ConnectAsync("grpc://127.0.0.1:50051");
/// PlaceReply reply = await client.InvokeAsync&lt;PlaceReply>(
///     "Place", new PlaceRequest { Order = new Order { Id = "o1", Items = { "tea" } } });
/// </code></example>
public sealed partial class RpcClient : IDisposable, IAsyncDisposable
{
    private readonly IChannelSource _channels;
    private readonly RpcLimits _limits;
    private readonly RpcClientOptions _options;
    private readonly MessageMapper _mapper;
    private readonly ClientInterceptors? _interceptors;
    private readonly ClientLog? _log;
    private readonly RetryPolicy _retry;
    private KnownReader<DynamicMessage>? _lastReader;
    private long _calls;
    private int _closed;

    private RpcClient(
        IReadOnlyList<RpcEndpoint> endpoints, RpcSchema? schema, RpcServiceInfo? service,
        IChannelSource channels, RpcClientOptions options)
    {
        RpcEndpoint endpoint = endpoints[0];
        Endpoints = endpoints;
        _options = options;
        _service = service;
        _schema = _given = schema;
        _channels = channels;
        _limits = options.Limits;
        _log = ClientLog.From<RpcClient>(options);
        _retry = new RetryPolicy(endpoint, options.Retry, _log, options.Trace);
        _interceptors = ClientInterceptors.Create(
            endpoint, options, (error, method) => Locate(error, method));

        // A host's objects may contain texts from users and peers, so texts are never parsed as JSON.
        _mapper = new MessageMapper { MaxDepth = _limits.MaxDepth, TakesRows = false };
    }

    /// <summary>The endpoint; with several endpoints, the first.</summary>
    public RpcEndpoint Endpoint => Endpoints[0];

    /// <summary>All endpoints that the client was given.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints { get; }

    /// <summary>The side channel. It is sent with every call; a reply may replace it. Its fields are the
    /// extensions of <c>google.protobuf.rpc_messages.RpcCallContext</c> that the schema declares. To change
    /// it, change a copy and set that.</summary>
    public DynamicMessage CallContext
    {
        get => SideChannel.ToDynamic(_channels.Context, _schema, _limits.MaxMessageElements);
        set => _channels.Context = SideChannel.ToWire(value);
    }

    /// <summary>Empties the side channel, and so ends the session for this client.</summary>
    internal void ForgetContext() => _channels.Context = new RpcCallContext();

    /// <summary>False after the client is disposed.</summary>
    public bool IsOpen => Volatile.Read(ref _closed) == 0;

    /// <summary>The number of completed calls, including failed ones.</summary>
    public long CallCount => Volatile.Read(ref _calls);

    /// <summary>Closes the connections, and fails the running calls. On native endpoints, first ends the
    /// session on the server, and waits at most 1 second for that.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _closed, 1) == 0)
        {
            _channels.Dispose();
        }
    }

    /// <inheritdoc cref="Dispose"/>
    public ValueTask DisposeAsync() =>
        Interlocked.Exchange(ref _closed, 1) == 0 ? _channels.DisposeAsync() : default;

    private void RequireOpen(CancellationToken cancellation)
    {
        ObjectDisposedException.ThrowIf(!IsOpen, this);
        cancellation.ThrowIfCancellationRequested();
    }

    // What the client sends to identify itself. The scheme of a header can be any.
    private CallerProofs Presented =>
        _options.Security.Authentication switch
        {
            RpcClientAuthentication.User => CallerProofs.Password,
            RpcClientAuthentication.Bearer => CallerProofs.Token,
            RpcClientAuthentication.Self => CallerProofs.OwnAccount,
            _ when _options.Headers.GetAll("authorization").Count > 0 =>
                CallerProofs.Password | CallerProofs.Token,
            _ => CallerProofs.None,
        }
        | (_options.Tls?.ClientCertificate is not null && CallerProof.CanShowCertificate(Endpoint)
            ? CallerProofs.Certificate
            : CallerProofs.None);

    private RpcException Locate(
        RpcException error, RpcMethodInfo? method = null, RpcEndpoint? server = null)
    {
        error.Endpoint ??= server ?? Endpoint;
        error.Accepted = error.Code == RpcStatusCode.Unauthenticated ? Missing(error) : CallerProofs.None;
        if (method is not null)
        {
            error.MethodName ??= method.FullName;
            error.Details = GrpcStatusDetails.Complete(error.Details, method.Service.Schema);
        }

        return error;
    }

    // Another kind of proof helps only if the server accepts it. A rejected proof of an accepted kind is
    // wrong, and another kind would not correct it.
    private CallerProofs Missing(RpcException error) =>
        (error.Accepted & Presented) != CallerProofs.None ? CallerProofs.None
        : error.Accepted != CallerProofs.None ? error.Accepted
        : error.IsAnswer && Presented == CallerProofs.None ? CallerProof.Supported(Endpoint)
        : CallerProofs.None;

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
        BlockingWait.End(ReachAsync<BlockingWait>(
            () => Create(endpoint, schema, options, cancellationToken), cancellationToken));

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
        ReachAsync<AsyncWait>(
            () => Create(endpoint, schema, options, cancellationToken), cancellationToken).AsTask();

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
        ReachAsync<AsyncWait>(
            () => Create(RpcEndpoint.Parse(endpoint), schema, options, cancellationToken), cancellationToken)
            .AsTask();

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
        BlockingWait.End(ReachAsync<BlockingWait>(
            () => Create(endpoints, balancing, schema, options, cancellationToken), cancellationToken));

    /// <inheritdoc cref=
    /// "Connect(IReadOnlyList{RpcEndpoint}, RpcLoadBalancing, RpcSchema?,
    /// RpcClientOptions?, CancellationToken)"/>
    public static Task<RpcClient> ConnectAsync(
        IReadOnlyList<RpcEndpoint> endpoints,
        RpcLoadBalancing balancing,
        RpcSchema? schema = null,
        RpcClientOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ReachAsync<AsyncWait>(
            () => Create(endpoints, balancing, schema, options, cancellationToken), cancellationToken)
            .AsTask();

    private static RpcClient Create(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions? options, CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        if (endpoint.Servers.Count > 1)
        {
            // gRPC also uses pick_first for the addresses of a name by default.
            return Create([endpoint], RpcLoadBalancing.PickFirst, schema, options, cancellation);
        }

        cancellation.ThrowIfCancellationRequested();
        options = options?.Copy() ?? new RpcClientOptions();
        ClientOptionsCheck.Check(endpoint, options);
        options = ClientAuthorization.Apply(endpoint, options);
        RpcServiceInfo? service = FirstService(endpoint, schema, options);
        IRpcChannel channel = RpcChannels.Create(endpoint, service, options);
        return new RpcClient([endpoint], schema, service, channel, options);
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.MixedEndpoints,
                $"'{first}' and '{other}' are of different kinds; "
                + "one connection balances between endpoints of one kind.", other);
        }

        options = options?.Copy() ?? new RpcClientOptions();
        RpcEndpoint[] servers = [.. endpoints.SelectMany(endpoint => endpoint.Servers)];
        foreach (RpcEndpoint endpoint in servers)
        {
            ClientOptionsCheck.Check(endpoint, options);
        }

        options = ClientAuthorization.Apply(first, options);
        RpcServiceInfo? service = FirstService(first, schema, options);
        BackendPicker picker = RpcChannels.CreatePicker(servers, balancing, service, options);
        return new RpcClient([.. endpoints], schema, service, picker, options);
    }

    private static async ValueTask<RpcClient> ReachAsync<TWait>(
        Func<RpcClient> create, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RpcClient client = create();
        if (client._options.Lazy)
        {
            return client;
        }

        long start = Stopwatch.GetTimestamp();
        CallAttempts attempts = client._retry.StartConnecting(client._channels, cancellation);
        try
        {
            await client.CancellableAsync(
                () => attempts.RunAsync<TWait, bool>(async () =>
                {
                    await attempts.Channel.ConnectAsync<TWait>(cancellation).ConfigureAwait(false);
                    return true;
                }),
                cancellation).ConfigureAwait(false);
            client._log?.Connect(client.Endpoint, Stopwatch.GetElapsedTime(start));
            return client;
        }
        catch (Exception e)
        {
            client._log?.FailToConnect(client.Endpoint, e);
            if (TWait.IsBlocking)
            {
                client.Dispose();
            }
            else
            {
                await client.DisposeAsync().ConfigureAwait(false);
            }

            throw;
        }
    }

    // A gRPC server's schema is only read after connecting.
    private static RpcServiceInfo? FirstService(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options) =>
        schema is null && endpoint.Has(EndpointFeatures.Reflection)
            ? null
            : ServiceOf(schema, options.Service);

    /// <summary>Calls a method and blocks until the reply.</summary>
    /// <param name="method">The method, or its bare or full name.</param>
    /// <param name="request">The request: a message, or an object or dictionary with its fields.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed, with the server's status. InvalidArgument: the request
    /// does not fit the method. NotFound: the method does not exist. FailedPrecondition: there is no schema
    /// for the name.</exception>
    public DynamicMessage Invoke(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        Invoke(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="Invoke(string, object, RpcCallOptions?, CancellationToken)"/>
    public DynamicMessage Invoke(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return Call(method, request, DynamicReader(method), options, cancellationToken);
    }

    /// <summary>Calls a method that replies with a generated message, and blocks until the reply.</summary>
    /// <typeparam name="TReply">The generated class of the method's reply type.</typeparam>
    /// <inheritdoc cref="Invoke(string, object, RpcCallOptions?, CancellationToken)"/>
    public TReply Invoke<TReply>(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        Invoke<TReply>(MethodOf<TReply>(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="Invoke{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public TReply Invoke<TReply>(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RequireReply<TReply>(method);
        return Call(method, request, TypedReader<TReply>(method), options, cancellationToken);
    }

    /// <summary>Calls a method without blocking a thread.</summary>
    /// <inheritdoc cref="Invoke(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<DynamicMessage> InvokeAsync(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default) =>
        InvokeAsync(MethodOf(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeAsync(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<DynamicMessage> InvokeAsync(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return CallAsync(method, request, DynamicReader(method), options, cancellationToken);
    }

    /// <summary>Calls a method that replies with a generated message, without blocking a thread.</summary>
    /// <inheritdoc cref="Invoke{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<TReply> InvokeAsync<TReply>(
        string method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new() =>
        InvokeAsync<TReply>(MethodOf<TReply>(method, request), request, options, cancellationToken);

    /// <inheritdoc cref="InvokeAsync{TReply}(string, object, RpcCallOptions?, CancellationToken)"/>
    public Task<TReply> InvokeAsync<TReply>(
        RpcMethodInfo method, object request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
        where TReply : class, IMessage<TReply>, new()
    {
        RequireReply<TReply>(method);
        return CallAsync(method, request, TypedReader<TReply>(method), options, cancellationToken);
    }

    /// <summary>Calls a method with a serialized request from a stream, and blocks until the reply. Use it
    /// for requests that are too large for memory. Native endpoints send the request in parts, and the
    /// timeout applies to each part.</summary>
    /// <param name="method">The method.</param>
    /// <param name="request">The stream, which is read from its position to its end. Its length must be
    /// known, and be less than 2 GiB.</param>
    /// <param name="options">The deadline, headers and other options; null for the defaults. <see
    /// cref="RpcCallOptions.Progress"/> receives the progress after each part.</param>
    /// <param name="cancellationToken">Cancels the call on both sides.</param>
    /// <exception cref="RpcException">The call failed. InvalidArgument: the request is too large.
    /// Unimplemented: gRPC sends a message in one piece.</exception>
    public DynamicMessage Upload(
        RpcMethodInfo method, Stream request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return BlockingWait.End(UploadAsync<BlockingWait, DynamicMessage>(
            method, request, DynamicReader(method), options, cancellationToken));
    }

    /// <summary>Calls a method with a serialized request from a stream, without blocking a thread. Use it for
    /// requests that are too large for memory. Native endpoints send the request in parts, and the timeout
    /// applies to each part.</summary>
    /// <inheritdoc cref="Upload"/>
    public Task<DynamicMessage> UploadAsync(
        RpcMethodInfo method, Stream request, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        return UploadAsync(method, request, DynamicReader(method), options, cancellationToken);
    }

    private Task<TReply> UploadAsync<TReply>(
        RpcMethodInfo method, Stream request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TReply : class, IMessage =>
        UploadAsync<AsyncWait, TReply>(method, request, read, options, cancellation).AsTask();

    private async ValueTask<TReply> UploadAsync<TWait, TReply>(
        RpcMethodInfo method, Stream request, ReplyReader<TReply> read, RpcCallOptions? options,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
        where TReply : class, IMessage
    {
        CallSpec call = BeginUpload(method, request, options, cancellation);
        return await RunAsync(
            call,
            () => _interceptors is { } chain
                ? ClientInterceptors.RunAsync<TWait, TReply>(
                    () => chain.UploadAsync(call, request, SendAsync, read, cancellation))
                : SendAsync(call),
            cancellation).ConfigureAwait(false);

        ValueTask<TReply> SendAsync(CallSpec spec) => _retry.UploadAsync<TWait, TReply>(
            _channels, Traced(spec), request, read, cancellation);
    }

    private CallSpec BeginUpload(
        RpcMethodInfo method, Stream request, RpcCallOptions? options, CancellationToken cancellation)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(request);
        RequireOpen(cancellation);
        return request.Length - request.Position <= int.MaxValue
            ? SpecOf(method, options)
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The request has {request.Length - request.Position:N0} bytes. A message of "
                + "Protocol Buffers has at most 2 GiB less one byte.");
    }

    /// <summary>Creates a reader that only measures replies, or also decodes them to check them. Interceptors
    /// always get decoded replies.</summary>
    internal ReplyReader<IMessage> MeasuringReader(RpcMethodInfo method, bool decodes)
    {
        RpcMessageInfo type = method.ReplyType;
        ReplyReader<DynamicMessage> decode = DynamicReader(method);
        return _interceptors is not null ? decode : body =>
        {
            if (decodes)
            {
                decode(body);
            }

            return new MeasuredReply(type, (int)body.Bytes.Length);
        };
    }

    /// <summary>Calls a method.</summary>
    internal ValueTask<IMessage> MeasureAsync<TWait>(
        RpcMethodInfo method, IMessage request, ReplyReader<IMessage> read, RpcCallOptions options,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode =>
        CallAsync<TWait, IMessage>(method, Passed(request), read, options, cancellation);

    /// <summary>Makes a streaming call of any kind of method.</summary>
    internal IAsyncEnumerable<IMessage> MeasureStream(
        RpcMethodInfo method, IAsyncEnumerable<IMessage> requests, ReplyReader<IMessage> read,
        RpcCallOptions options, CancellationToken cancellation) =>
        StreamAsync(method, Passed(requests), read, options, cancellation);

    private async IAsyncEnumerable<object> Passed(IAsyncEnumerable<IMessage> requests)
    {
        await foreach (IMessage request in requests.ConfigureAwait(false))
        {
            yield return Passed(request);
        }
    }
}

/// <summary>A reply of which only the size is known.</summary>
internal sealed class MeasuredReply(RpcMessageInfo type, int bytes) : IMessage
{
    /// <inheritdoc/>
    public MessageDescriptor Descriptor => type.Descriptor;

    /// <inheritdoc/>
    public int CalculateSize() => bytes;

    /// <inheritdoc/>
    public void WriteTo(CodedOutputStream output) => throw Gone();

    /// <inheritdoc/>
    public void MergeFrom(CodedInputStream input) => throw Gone();

    private static NotSupportedException Gone() => new("Only the size of this message was kept.");
}
