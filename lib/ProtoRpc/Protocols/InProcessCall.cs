using System.Collections.Concurrent;
using System.Threading.Channels;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols;

/// <summary>A call with one request and one reply within one process. Messages are serialized, so that later
/// changes to the objects on one side do not affect the other.</summary>
/// <param name="service">The full name of the service.</param>
/// <param name="method">The name of the method.</param>
/// <param name="request">The request, which the server disposes.</param>
internal sealed class InProcessExchange(string service, string method, EncodedMessage request)
{
    private volatile bool _isAbandoned;

    public string Service => service;

    public string Method => method;

    public EncodedMessage Request => request;

    /// <summary>The call context, which must not be changed.</summary>
    public required RpcCallContext Context { get; init; }

    /// <summary>The header of a call with metadata or extensions; null for a call without them.</summary>
    public RpcRequestHeader? Header { get; init; }

    /// <summary>The time until the caller's deadline; null for no limit.</summary>
    public uint? TimeoutMs { get; init; }

    /// <summary>Cancelled by the caller.</summary>
    public CancellationToken Caller { get; init; }

    /// <summary>Whether the handler may run on the caller's thread, because the caller waits for the reply
    /// and set no timeout or cancellation.</summary>
    public bool CanRunHere { get; init; }

    /// <summary>Whether the caller has stopped waiting.</summary>
    public bool IsAbandoned
    {
        get => _isAbandoned || Caller.IsCancellationRequested;
        set => _isAbandoned = value;
    }

    /// <summary>The reply, which the caller disposes; null for a failed call.</summary>
    public EncodedMessage? Reply { get; set; }

    /// <summary>The header of the reply with the result; null for success without metadata.</summary>
    public RpcResponseHeader? ReplyHeader { get; set; }
}

/// <summary>A streaming call within one process, with the headers of the native protocol. Messages are
/// serialized, so that later changes to the objects on one side do not affect the other.</summary>
/// <remarks>A sender waits if the other side has several unread messages.</remarks>
internal sealed class InProcessCall(string service, RpcRequestHeader header, CancellationToken aborted)
{
    private const int MaxWaiting = 8;

    /// <summary>The full name of the service that is called.</summary>
    public string Service { get; } = service;

    public RpcRequestHeader Header { get; } = header.Clone();

    /// <summary>Cancelled when the caller no longer waits for the reply.</summary>
    public CancellationToken Aborted { get; } = aborted;

    public Channel<byte[]> Requests { get; } = Channel.CreateBounded<byte[]>(MaxWaiting);

    /// <summary>The replies; the channel ends after the last one.</summary>
    public Channel<InProcessReply> Replies { get; } = Channel.CreateBounded<InProcessReply>(MaxWaiting);
}

/// <summary>An item that a server sends.</summary>
/// <param name="Header">The headers with the first message, and the result with the last item; otherwise
/// null.</param>
/// <param name="Body">A message; null for a header without one.</param>
/// <param name="IsLast">Whether the call has ended.</param>
internal readonly record struct InProcessReply(RpcResponseHeader? Header, byte[]? Body, bool IsLast);

/// <summary>The in-process listeners by name. Clients find listeners only here.</summary>
internal static class InProcessNames
{
    // Endpoints compare without regard to case, so their names do as well.
    private static readonly ConcurrentDictionary<string, IInProcessServer> Servers =
        new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Registers a name.</summary>
    /// <returns>False if another server has the name.</returns>
    public static bool TryTake(string name, IInProcessServer server) => Servers.TryAdd(name, server);

    /// <summary>Releases a name.</summary>
    public static void Release(string name, IInProcessServer server) =>
        Servers.TryRemove(KeyValuePair.Create(name, server));

    /// <summary>The listener with a name; null if there is none.</summary>
    public static IInProcessServer? Find(string name) => Servers.GetValueOrDefault(name);
}

/// <summary>A server, for clients in its process.</summary>
internal interface IInProcessServer
{
    /// <summary>The services of the server, which are the client's schema.</summary>
    IReadOnlyList<RpcServiceInfo> Services { get; }

    /// <summary>Connects a client.</summary>
    /// <exception cref="RpcException">Unavailable: the server stops. ResourceExhausted: the server has
    /// reached its limit of clients.</exception>
    IInProcessConnection Connect();
}

/// <summary>The connection of a client to a server, until it is disposed.</summary>
internal interface IInProcessConnection : IDisposable
{
    /// <summary>Whether the server accepts no more calls.</summary>
    bool IsClosed { get; }

    /// <summary>Whether the client has disposed of it.</summary>
    bool IsLeft { get; }

    /// <summary>Stops counting the connection as a client of the server. Running calls continue.</summary>
    void Release();

    /// <summary>Serves a call with one request and one reply. The task ends when the call has
    /// ended.</summary>
    /// <exception cref="RpcException">Unavailable: the server stops.</exception>
    ValueTask CallAsync(InProcessExchange exchange);

    /// <summary>Serves a streaming call, on another thread.</summary>
    /// <exception cref="RpcException">Unavailable: the server stops.</exception>
    void Begin(InProcessCall call);
}
