using System.Collections.Concurrent;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>A call without a server: makes the context and the stream that a test hands to a handler or an
/// interceptor.</summary>
/// <remarks>Calls that are copied by <c>with</c> share their sessions, unless the copy has other
/// options.</remarks>
/// <example><code>
/// RpcTestCall call = new(schema.GetMethod("Sample.MyService/Send")) { Peer = ann };
/// IMessage reply = await handler(call.CreateContext(), request);
/// </code></example>
/// <param name="Method">The method that is called.</param>
public sealed record RpcTestCall(RpcMethodInfo Method)
{
    private RpcServerOptions _options = new();
    private ServerHost? _host;

    /// <summary>The listener's endpoint that the call seems to come in on.</summary>
    public RpcEndpoint Endpoint { get; init; } = RpcEndpoint.Local("test");

    /// <summary>Who calls; an anonymous caller without an address, unless it is set.</summary>
    public PeerIdentity Peer { get; init; } = PeerIdentity.Anonymous("");

    /// <summary>What comes beside the request.</summary>
    public RpcMetadata RequestHeaders { get; init; } = new();

    /// <summary>The side channel that comes with the request; null for none.</summary>
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

    /// <summary>The messages of a call with these requests, which have come already.</summary>
    public RpcTestStream CreateStream(params IEnumerable<IMessage> requests) =>
        CreateStream(requests.ToAsyncEnumerable());

    /// <summary>The messages of a call whose requests come when the test has them come.</summary>
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

/// <summary>The messages of a call without a server;
/// <see cref="RpcTestCall.CreateStream(IEnumerable{IMessage})"/> makes one.</summary>
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

    /// <summary>What the handler has written, in its order.</summary>
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
