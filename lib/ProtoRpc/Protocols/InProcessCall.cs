using System.Collections.Concurrent;
using System.Threading.Channels;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols;

/// <summary>A call with one request and one reply between two sides of one process. Messages are bytes, so
/// that neither side sees what the other does to its objects later.</summary>
/// <param name="service">The full name of the service.</param>
/// <param name="method">The name of the method.</param>
/// <param name="request">The request, of which the server disposes.</param>
internal sealed class InProcessExchange(string service, string method, EncodedMessage request)
{
    private volatile bool _isAbandoned;

    public string Service => service;

    public string Method => method;

    public EncodedMessage Request => request;

    /// <summary>The side channel, which nobody changes.</summary>
    public required RpcCallContext Context { get; init; }

    /// <summary>The whole header of a call with metadata or extensions; null for one without.</summary>
    public RpcRequestHeader? Header { get; init; }

    /// <summary>The time that the caller has; null for no limit.</summary>
    public uint? TimeoutMs { get; init; }

    /// <summary>Cancelled by the caller.</summary>
    public CancellationToken Caller { get; init; }

    /// <summary>Whether the caller only waits for the reply and set no end of its own, so that the handler
    /// may run on its thread.</summary>
    public bool CanRunHere { get; init; }

    /// <summary>Whether the caller waits no more.</summary>
    public bool IsAbandoned
    {
        get => _isAbandoned || Caller.IsCancellationRequested;
        set => _isAbandoned = value;
    }

    /// <summary>The reply, of which the caller disposes; null for a call that failed.</summary>
    public EncodedMessage? Reply { get; set; }

    /// <summary>The headers of the reply, and how the call ended; null for success without headers.</summary>
    public RpcResponseHeader? ReplyHeader { get; set; }
}

/// <summary>A streaming call between two sides of one process: the headers of the native protocol, and
/// messages as bytes, so that neither side sees what the other does to its objects later.</summary>
/// <remarks>A side that sends more than the other reads waits after a few messages.</remarks>
internal sealed class InProcessCall(string service, RpcRequestHeader header, CancellationToken aborted)
{
    private const int MaxWaiting = 8;

    /// <summary>The full name of the service that is called.</summary>
    public string Service { get; } = service;

    public RpcRequestHeader Header { get; } = header.Clone();

    /// <summary>Cancelled when the caller does not want the reply any more.</summary>
    public CancellationToken Aborted { get; } = aborted;

    public Channel<byte[]> Requests { get; } = Channel.CreateBounded<byte[]>(MaxWaiting);

    /// <summary>The replies; the channel ends after the one that is the last.</summary>
    public Channel<InProcessReply> Replies { get; } = Channel.CreateBounded<InProcessReply>(MaxWaiting);
}

/// <summary>What a server sends.</summary>
/// <param name="Header">With the first message the headers, and in the end how the call ended; null
/// between.</param>
/// <param name="Body">A message; null where none comes with the header.</param>
/// <param name="IsLast">Whether the call has ended.</param>
internal readonly record struct InProcessReply(RpcResponseHeader? Header, byte[]? Body, bool IsLast);

/// <summary>The servers that listen under a name of this process: where clients find them, for neither side
/// sees the other.</summary>
internal static class InProcessNames
{
    // Endpoints are equal without regard to case, and so are their names.
    private static readonly ConcurrentDictionary<string, IInProcessServer> Servers =
        new(StringComparer.OrdinalIgnoreCase);

    /// <summary>Takes a name.</summary>
    /// <returns>False when another server has it.</returns>
    public static bool TryTake(string name, IInProcessServer server) => Servers.TryAdd(name, server);

    /// <summary>Gives a name back.</summary>
    public static void Release(string name, IInProcessServer server) =>
        Servers.TryRemove(KeyValuePair.Create(name, server));

    /// <summary>The listener with a name; null for none.</summary>
    public static IInProcessServer? Find(string name) => Servers.GetValueOrDefault(name);
}

/// <summary>A server as clients of its process see it.</summary>
internal interface IInProcessServer
{
    /// <summary>The services that it serves, which are its schema.</summary>
    IReadOnlyList<RpcServiceInfo> Services { get; }

    /// <summary>Lets a client in.</summary>
    /// <exception cref="RpcException">Unavailable when the server stops; ResourceExhausted when it has as
    /// many clients as it takes.</exception>
    IInProcessConnection Connect();
}

/// <summary>A client's way to a server, until it is disposed.</summary>
internal interface IInProcessConnection : IDisposable
{
    /// <summary>Whether the server takes no more calls.</summary>
    bool IsClosed { get; }

    /// <summary>Whether the client has disposed of it.</summary>
    bool IsLeft { get; }

    /// <summary>Counts no more as a client of the server; calls that run are not ended.</summary>
    void Release();

    /// <summary>Serves a call with one request and one reply. The task ends when the call has
    /// ended.</summary>
    /// <exception cref="RpcException">Unavailable: the server stops.</exception>
    ValueTask CallAsync(InProcessExchange exchange);

    /// <summary>Serves a streaming call, on another thread.</summary>
    /// <exception cref="RpcException">Unavailable: the server stops.</exception>
    void Begin(InProcessCall call);
}
