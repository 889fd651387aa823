using ProtoRpc.Client;
using ProtoRpc.Client.Interceptors;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc;

/// <summary>Calls services at one endpoint. Safe for use by many threads.</summary>
/// <remarks>
/// <para>A method is given as <see cref="RpcMethodInfo"/>, or by its name: bare (<c>Place</c>), or full
/// (<c>shop.Orders/Place</c>). A request is a generated message, a <see cref="DynamicMessage"/>, or an object
/// or dictionary whose members are the fields, nested at will, as <see cref="MessageMapper"/> takes them.
/// Names are looked up in the client's schema; generated messages bring the schema of the file that declares
/// them, so that calls with them need no other.</para>
/// <para>The next call after a broken connection connects again.
/// A call that may have reached the server is never sent twice.</para>
/// <para>With a token that is already cancelled, every method throws <see cref="OperationCanceledException"/>
/// with that token, and sends nothing. A token that is cancelled later fails the call with an
/// <see cref="RpcException"/> of status Cancelled,
/// whose <see cref="RpcException.MayHaveExecuted"/> says whether the server may have run it.
/// A deadline that passes is always an <see cref="RpcException"/> of status DeadlineExceeded.</para>
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

        // Texts in a host's objects come from users and peers: none of them is read as JSON.
        _mapper = new MessageMapper { MaxDepth = _limits.MaxDepth, TakesRows = false };
    }

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The side channel: sent with every call; what a reply brings back replaces it. Its fields
    /// are the extensions of <c>google.protobuf.rpc_messages.RpcCallContext</c> that the schema declares.
    /// Change a copy and set it.</summary>
    public DynamicMessage CallContext
    {
        get => SideChannel.ToDynamic(_channel.Context, _schema);
        set => _channel.Context = SideChannel.ToWire(value);
    }

    /// <summary>False after the client was disposed of.</summary>
    public bool IsOpen => Volatile.Read(ref _closed) == 0;

    /// <summary>Calls that ended, failed ones included.</summary>
    public long CallCount => Volatile.Read(ref _calls);

    /// <summary>Closes the connections, and fails the calls that run. On native endpoints it ends the session
    /// on the server first, and waits 1 second for that at most.</summary>
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
