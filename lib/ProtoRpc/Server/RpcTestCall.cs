using System.Collections.Concurrent;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>A call without a server. Creates the context and the stream with which a test calls a handler or
/// an interceptor.</summary>
/// <remarks>Calls that are copied by <c>with</c> share their sessions, unless the copy has other
/// options.</remarks>
/// <example><code>
/// RpcTestCall call = new(schema.GetMethod("shop.Orders/Place"))
/// {
///     RequestHeaders = new() { { "x-tenant", "blue" } },
/// };
/// IMessage reply = await handler(
///     call.CreateContext(), new PlaceRequest { Order = new Order { Id = "o1" } });
/// </code></example>
/// <param name="Method">The method that is called.</param>
public sealed record RpcTestCall(RpcMethodInfo Method)
{
    private RpcServerOptions _options = new();
    private ServerHost? _host;

    /// <summary>The endpoint of the listener that the call appears to use.</summary>
    public RpcEndpoint Endpoint { get; init; } = RpcEndpoint.Local("test");

    /// <summary>The caller; by default an anonymous caller without an address.</summary>
    public PeerIdentity Peer { get; init; } = PeerIdentity.Anonymous("");

    /// <summary>The headers of the request.</summary>
    public RpcMetadata RequestHeaders { get; init; } = new();

    /// <summary>The call context of the request; null for none.</summary>
    public DynamicMessage? CallContext { get; init; }

    /// <summary>The session that the caller names; null for none.</summary>
    public Guid? SessionId { get; init; }

    /// <summary>When the caller stops waiting; null for never.</summary>
    public DateTimeOffset? Deadline { get; init; }

    /// <summary>Cancelled when the caller gives up.</summary>
    public CancellationToken CancellationToken { get; init; }

    /// <summary>The options of the server that there seems to be.</summary>
    public RpcServerOptions Options
    {
        get => _options;
        init => (_options, _host) = (value, null);
    }

    /// <summary>The call as a handler sees it; a new one each time.</summary>
    public RpcServerCallContext CreateContext() => new(
        _host ??= new ServerHost([], Options), Method, Endpoint, Peer, Incoming(), Deadline,
        CancellationToken)
    {
        HeaderSource = () => RequestHeaders,
    };

    /// <summary>Creates a stream whose requests have already arrived.</summary>
    public RpcTestStream CreateStream(params IEnumerable<IMessage> requests) =>
        CreateStream(requests.ToAsyncEnumerable());

    /// <summary>Creates a stream whose requests arrive when the test's enumerable returns them.</summary>
    public RpcTestStream CreateStream(IAsyncEnumerable<IMessage> requests)
    {
        ArgumentNullException.ThrowIfNull(requests);
        return new RpcTestStream(Method, requests, CancellationToken);
    }

    private RpcCallContext? Incoming()
    {
        if (CallContext is null && SessionId is null)
        {
            return null;
        }

        RpcCallContext incoming = CallContext is null ? new() : SideChannel.ToWire(CallContext);
        if (SessionId is { } id)
        {
            incoming.SessionId = ByteString.CopyFrom(id.ToByteArray());
        }

        return incoming;
    }
}

/// <summary>The stream of a call without a server. Create it with <see
/// cref="RpcTestCall.CreateStream(IEnumerable{IMessage})"/>.</summary>
/// <example><code>
/// RpcTestCall call = new(schema.GetMethod("shop.Orders/Watch"));
/// RpcTestStream stream = call.CreateStream(new WatchRequest { Id = "o1" });
/// await watch(call.CreateContext(), stream);
/// Assert.Equal(3, stream.Replies.Count);
/// </code></example>
public sealed class RpcTestStream : RpcServerStream
{
    private readonly IAsyncEnumerator<IMessage> _requests;
    private readonly CancellationToken _cancellation;
    private readonly ConcurrentQueue<IMessage> _replies = new();

    internal RpcTestStream(
        RpcMethodInfo method, IAsyncEnumerable<IMessage> requests, CancellationToken cancellation)
        : base(new ServerMethod(method, static (RpcServerCallContext _, RpcServerStream _) => default))
    {
        _requests = requests.GetAsyncEnumerator(cancellation);
        _cancellation = cancellation;
    }

    /// <summary>The replies of the handler, in order.</summary>
    public IReadOnlyList<IMessage> Replies => [.. _replies];

    internal override async ValueTask<IMessage?> ReceiveAsync()
    {
        _cancellation.ThrowIfCancellationRequested();
        return await _requests.MoveNextAsync().ConfigureAwait(false) ? _requests.Current : null;
    }

    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        _cancellation.ThrowIfCancellationRequested();
        _replies.Enqueue(reply);
        return default;
    }
}
