using ProtoRpc.Client;
using ProtoRpc.Client.Interceptors;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

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
public sealed partial class RpcClient : IDisposable, IAsyncDisposable
{
    private readonly IRpcChannel _channel;
    private readonly RpcLimits _limits;
    private readonly RpcClientOptions _options;
    private readonly MessageMapper _mapper;
    private readonly ClientInterceptors? _interceptors;
    private readonly ClientLog? _log;
    private KnownReader<DynamicMessage>? _lastReader;
    private long _calls;
    private int _closed;

    private RpcClient(
        RpcEndpoint endpoint, RpcSchema? schema, RpcServiceInfo? service,
        IRpcChannel channel, RpcClientOptions options)
    {
        Endpoint = endpoint;
        _options = options;
        _service = service;
        _schema = _given = schema;
        _channel = channel;
        _limits = options.Limits;
        _log = ClientLog.Of<RpcClient>(options);
        _interceptors = ClientInterceptors.Create(endpoint, options, Locate);

        // A host's objects may contain texts from users and peers, so texts are never parsed as JSON.
        _mapper = new MessageMapper { MaxDepth = _limits.MaxDepth, TakesRows = false };
    }

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The side channel. It is sent with every call; a reply may replace it. Its fields are the
    /// extensions of <c>google.protobuf.rpc_messages.RpcCallContext</c> that the schema declares. To change
    /// it, change a copy and set that.</summary>
    public DynamicMessage CallContext
    {
        get => SideChannel.ToDynamic(_channel.Context, _schema, _limits.MaxMessageElements);
        set => _channel.Context = SideChannel.ToWire(value);
    }

    /// <summary>Empties the side channel, and so ends the session for this client.</summary>
    internal void ForgetContext() => _channel.Context = new RpcCallContext();

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
            _channel.Dispose();
        }
    }

    /// <inheritdoc cref="Dispose"/>
    public ValueTask DisposeAsync() =>
        Interlocked.Exchange(ref _closed, 1) == 0 ? _channel.DisposeAsync() : default;

    private void RequireOpen(CancellationToken cancellation)
    {
        ObjectDisposedException.ThrowIf(!IsOpen, this);
        cancellation.ThrowIfCancellationRequested();
    }

    private RpcException Locate(RpcException error, RpcMethodInfo? method = null)
    {
        error.Endpoint ??= Endpoint;
        if (method is not null)
        {
            error.MethodName ??= method.FullName;
            error.Details = GrpcStatusDetails.Complete(error.Details, method.Service.Schema);
        }

        return error;
    }
}
