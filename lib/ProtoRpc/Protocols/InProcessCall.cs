using System.Collections.Concurrent;
using System.Threading.Channels;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols;

/// <summary>A call between two sides of one process: the headers of the native protocol, and messages as
/// bytes, so that neither side sees what the other does to its objects later.</summary>
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

    /// <summary>Has a call served, on another thread.</summary>
    void Begin(InProcessCall call);
}
