namespace ProtoRpc;

/// <summary>The limits of clients and listeners. Data over a limit is rejected, never truncated.</summary>
/// <example><code>
/// RpcLimits limits = RpcLimits.Default with
/// {
///     MaxMessageBytes = 1024 * 1024,
///     CallTimeout = TimeSpan.FromSeconds(10),
/// };
/// RpcServerOptions options = new() { Limits = limits };
/// </code></example>
public sealed record RpcLimits
{
    /// <summary>The default limits. Each call returns a new copy, because configuration binders write into
    /// the object.</summary>
    public static RpcLimits Default => new();

    /// <summary>Largest request or reply, in bytes, over all fragments: 4 MiB.</summary>
    public int MaxMessageBytes { get; init; } = 4 * 1024 * 1024;

    /// <summary>Bytes of all requests of more than 64 KiB that a listener receives and handles at the same
    /// time, and of the messages that are decoded from all requests: 512 MiB. The request that exceeds it is
    /// rejected as too busy. A single large request is accepted, and counts with at most seven
    /// eighths.</summary>
    public long MaxMemoryBytes { get; init; } = 512 * 1024 * 1024;

    /// <summary>Connections of each endpoint of a listener: 1,000. At the limit, the listener closes
    /// the anonymous connection that has been idle the longest.</summary>
    public int MaxConnections { get; init; } = 1000;

    /// <summary>Connections of one remote address to an endpoint of a listener: 500. An IPv6 network of 64
    /// bits counts as one address, and everything behind a proxy as the proxy's.</summary>
    public int MaxConnectionsPerAddress { get; init; } = 500;

    /// <summary>Connections of a listener that are served by a thread of their own; the others share
    /// the thread pool: 64.</summary>
    public int MaxBlockingConnections { get; init; } = 64;

    /// <summary>Connections that one client opens to one endpoint for calls at the same time: 64.</summary>
    public int MaxClientConnections { get; init; } = 64;

    /// <summary>Parallel calls on one HTTP/2 connection to a listener,
    /// as announced to clients: 100.</summary>
    public int MaxStreamsPerConnection { get; init; } = 100;

    /// <summary>Bytes of all headers of a request to a listener, names and values, and on native
    /// endpoints of a reply; also of all extensions of one native header: 32 KiB. Clients of HTTP and gRPC
    /// accept this number of bytes in the headers and trailers of a reply, and at least 64 KiB.</summary>
    public int MaxHeaderBytes { get; init; } = 32 * 1024;

    /// <summary>Headers of a request to a listener, and on native endpoints of a reply: 100.</summary>
    public int MaxHeaders { get; init; } = 100;

    /// <summary>The minimum time between two pings of an HTTP/2 client that receives no other data: 1 second.
    /// If a client pings earlier more than twice in a row, its connection is closed with
    /// ENHANCE_YOUR_CALM.</summary>
    public TimeSpan MinPingInterval { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>Calls that handlers of a listener run at the same time, on all its endpoints together:
    /// 1,000. Streams count until they end. Further calls wait; pings, health checks and reflection do
    /// not.</summary>
    public int MaxConcurrentCalls { get; init; } = 1000;

    /// <summary>The maximum number of calls of a listener that wait for others to end, or for a worker:
    /// 1,000. Clients take turns. At the limit, a call is rejected as too busy, or displaces the last call of
    /// a client with at least twice as many waiting calls.</summary>
    public int MaxQueuedCalls { get; init; } = 1000;

    /// <summary>The maximum time that a call waits for others to end, or for a worker: 5 seconds. A call that
    /// would wait longer is rejected as too busy on arrival. InfiniteTimeSpan for no limit.</summary>
    public TimeSpan MaxQueueTime { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Workers of a listener that are replaced although their handlers, stopped, still run .NET
    /// code that the shell cannot stop: 32.</summary>
    public int MaxStuckWorkers { get; init; } = 32;

    /// <summary>Elements of one request or reply: the messages within it, all their fields, set or not, and
    /// the entries of its maps. A long message may have one for every two bytes: 1,000,000.</summary>
    public int MaxMessageElements { get; init; } = 1_000_000;

    /// <summary>Entries of a map with numbers as keys in a request or reply that is read as a generated
    /// class, and unknown fields of a message in it: 10,000. Several such maps together have fewer: the sum
    /// of the squares of their entries is limited. A <c>DynamicMessage</c> has no such limit.</summary>
    public int MaxGeneratedMapEntries { get; init; } = 10_000;

    /// <summary>Nesting of messages, in every format and for objects: 100.</summary>
    public int MaxDepth { get; init; } = 100;

    /// <summary>Largest DCE/RPC fragment that is offered and accepted, in bytes, 1,432 to 65,535: 5,840,
    /// as Windows does on TCP.</summary>
    public int MaxFragmentBytes { get; init; } = 5840;

    /// <summary>Fragments of one request or reply: 65,536.</summary>
    public int MaxFragments { get; init; } = 65536;

    /// <summary>Presentation contexts of one association: 16.</summary>
    public int MaxContexts { get; init; } = 16;

    /// <summary>Sessions of a server: 1,000. A new one ends the longest idle session of the callers with the
    /// most.</summary>
    public int MaxSessions { get; init; } = 1000;

    /// <summary>Sessions of one caller: 100. A new one ends the caller's longest idle session. Anonymous
    /// callers count by address, or by IPv6 network.</summary>
    public int MaxSessionsPerCaller { get; init; } = 100;

    /// <summary>Values in one session: 1,000.</summary>
    public int MaxSessionItems { get; init; } = 1000;

    /// <summary>Bytes of the keys and values in one session: 1 MiB. Texts, arrays, messages and collections
    /// of these are counted when they are set; other objects count as 64 bytes.</summary>
    public int MaxSessionBytes { get; init; } = 1024 * 1024;

    /// <summary>Time after which a session that no call uses is ended: 3 minutes. InfiniteTimeSpan for
    /// never.</summary>
    public TimeSpan SessionIdleTimeout { get; init; } = TimeSpan.FromMinutes(3);

    /// <summary>The size from which a client sends a native or in-process request in parts, in bytes: 4 MiB.
    /// A part and its headers are no larger than this. The minimum is 2,048; 0 sends no parts. Servers of
    /// ProtoRpc support parts; servers of Google.ProtocolBuffers.Rpc only if they
    /// enable them.</summary>
    public int MultiPartThreshold { get; init; } = 4 * 1024 * 1024;

    /// <summary>Bytes of all messages of one caller that are coming in parts:
    /// 2 GiB less one, the largest message of Protocol Buffers.</summary>
    public int MaxTransferBytes { get; init; } = int.MaxValue;

    /// <summary>Bytes of all messages of all callers that are coming in parts, as the senders announce
    /// them: 8 GiB.</summary>
    public long MaxTransferBytesOfAll { get; init; } = 8L * 1024 * 1024 * 1024;

    /// <summary>Multi-part messages of one caller that may be arriving at a time: 8.</summary>
    public int MaxTransfersPerCaller { get; init; } = 8;

    /// <summary>Multi-part messages of all callers that may be arriving at a time: 64.</summary>
    public int MaxTransfers { get; init; } = 64;

    /// <summary>Bytes of a message in parts that are kept in memory;
    /// a longer one goes to a temporary file: 1 MiB.</summary>
    public int TransferMemoryBytes { get; init; } = 1024 * 1024;

    /// <summary>The time after which a message is dropped if its next part does not arrive: 1 minute.
    /// InfiniteTimeSpan for no limit.</summary>
    public TimeSpan TransferIdleTimeout { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>Time for a client to connect and bind: 10 seconds. InfiniteTimeSpan for no limit.</summary>
    public TimeSpan ConnectTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Time for a call when no deadline is given: 30 seconds.</summary>
    public TimeSpan CallTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>The maximum time of a handler, independent of its caller's deadline; for streams, until they
    /// end. After it, the handler is stopped, and the call fails with DeadlineExceeded. InfiniteTimeSpan for
    /// no limit, which is the default.</summary>
    public TimeSpan HandlerTimeout { get; init; } = Timeout.InfiniteTimeSpan;

    /// <summary>Time in which a new connection must have bound, or sent its first HTTP or gRPC request:
    /// 10 seconds. InfiniteTimeSpan for no limit.</summary>
    public TimeSpan BindTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Time in which a begun PDU, and the next fragment of a begun request,
    /// must arrive: 30 seconds. InfiniteTimeSpan for no limit.</summary>
    public TimeSpan FragmentTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Time after which a connection without calls is closed: 30 minutes. InfiniteTimeSpan for
    /// never.</summary>
    public TimeSpan IdleTimeout { get; init; } = TimeSpan.FromMinutes(30);

    /// <summary>Time that a stopping listener gives to running calls: 5 seconds.</summary>
    public TimeSpan DrainTimeout { get; init; } = TimeSpan.FromSeconds(5);
}
