using System.Collections.Concurrent;

namespace ProtoRpc.Protocols.InProcess;

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
