using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Runspaces;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>A listener as the shell shows it.</summary>
public class RpcListener
{
    private readonly IRpcServer _server;
    private readonly RpcServer? _services;
    private readonly Lock _gate = new();
    private HandlerPool _handlers;
    private HandlerPool? _filters;

    // Also those whose last calls still run.
    private List<HandlerPool> _pools;

    internal RpcListener(int id, RpcSchema schema, RpcServer server, HandlerPool pool)
    {
        Id = id;
        Schema = schema;
        InterfaceId = [.. server.Services.Select(service => service.Value)];
        _server = server;
        _services = server;
        _handlers = pool;
        _filters = pool.HasFilters ? pool : null;
        _pools = [pool];
    }

    internal RpcListener(int id, RpcRawServer server, HandlerPool pool)
    {
        Id = id;
        InterfaceId = [server.InterfaceId];
        _server = server;
        _handlers = pool;
        _filters = pool.HasFilters ? pool : null;
        _pools = [pool];
    }

    /// <summary>Its number in this runspace.</summary>
    public int Id { get; }

    /// <summary><c>Listening</c> or <c>Stopped</c>.</summary>
    public string State => IsListening ? "Listening" : "Stopped";

    /// <summary>Full names of the services; none on the raw layer.</summary>
    public string[] Service => [.. _services?.Services.Select(service => service.Key.FullName) ?? []];

    /// <summary>The interfaces' ids on the native protocol.</summary>
    public Guid[] InterfaceId { get; }

    /// <summary>The endpoints as bound, with the port that the system picked.</summary>
    public RpcEndpoint[] Endpoint => [.. _server.Endpoints];

    /// <summary>The schema of the services; none on the raw layer.</summary>
    public RpcSchema? Schema { get; }

    /// <summary>Whether it serves bytes, and no messages.</summary>
    public bool IsRaw => _services is null;

    /// <summary>Connections now open.</summary>
    public int Connections => _server.Counters.Connections;

    /// <summary>Connections accepted since the start.</summary>
    public long Accepted => _server.Counters.Accepted;

    /// <summary>Calls that ended.</summary>
    public long Calls => _server.Counters.Calls;

    /// <summary>Calls that failed.</summary>
    public long Errors => _server.Counters.Errors;

    /// <summary>Calls that run or wait.</summary>
    public int InFlight => _server.Counters.InFlight;

    /// <summary>Calls of <see cref="InFlight"/> that wait for others to end, or for a worker.</summary>
    public int Queued => _server.Counters.Queued + Pools.Sum(pool => pool.QueuedCount);

    /// <summary>Calls of <see cref="Errors"/> that were refused because the listener was too busy.</summary>
    public long Refused => _server.Counters.Refused;

    /// <summary>Workers that run handlers; made when they are needed.</summary>
    public int Workers => Pools.Sum(pool => pool.WorkerCount);

    /// <summary>Workers that were written off: their handlers were stopped,
    /// and still run .NET code.</summary>
    public int StuckWorkers => Pools.Sum(pool => pool.StuckWorkerCount);

    /// <summary>When it began to listen.</summary>
    public DateTimeOffset Started { get; } = DateTimeOffset.Now;

    /// <summary>Records that handlers wrote to their streams and that wait for Receive-RpcListener.</summary>
    public int Records => Streams.Count;

    /// <summary>Records that were dropped because they were not received.</summary>
    public long DroppedRecords => Streams.Dropped;

    /// <summary>The last record that a handler wrote.</summary>
    public string LastRecord => Streams.Last;

    /// <summary>Writes the calls to a file; null for none.</summary>
    internal CallRecord? Record { get; set; }

    internal IReadOnlyList<RpcSession> Sessions => _services?.Sessions ?? [];

    internal HandlerStreams Streams => _handlers.Streams;

    /// <summary>What stands before the filters.</summary>
    internal IReadOnlyList<IRpcInterceptor> Authorization { get; init; } = [];

    /// <summary>The pool of the ping handler; null for none.</summary>
    internal HandlerPool? Pings { get; init; }

    /// <summary>Adds HTTP to a server's options, where endpoints need it.</summary>
    internal Func<RpcEndpoint[], RpcServerOptions>? AddHttp { get; init; }

    /// <summary>Its checks of callers; null on the raw layer.</summary>
    internal HttpEndpoints? Http { get; init; }

    /// <summary>The server of its services.</summary>
    /// <exception cref="RpcException">FailedPrecondition: it serves bytes.</exception>
    internal RpcServer Server => _services ?? throw new RpcException(
        RpcStatusCode.FailedPrecondition,
        $"The {this} is a raw listener, which cannot be changed. Stop it, and start another.")
    {
        ErrorId = RpcErrorIds.RawListener,
    };

    /// <summary>What runs its handlers.</summary>
    internal HandlerPool Handlers => _handlers;

    internal bool IsListening => _server.IsListening;

    internal Task Completion => _server.Completion;

    /// <summary>Refuses new calls, lets running ones end within the drain time, stops the rest.</summary>
    internal void Stop(TimeSpan? drain)
    {
        _server.StopAsync(drain).GetAwaiter().GetResult();
        foreach (HandlerPool pool in Pools)
        {
            pool.Dispose();
        }

        Record?.Dispose();
        Termination.Remove(this);
    }

    /// <summary>Replaces handlers, filters and endpoints, all or none.</summary>
    /// <param name="change">What is replaced.</param>
    /// <param name="pool">The pool of the new scripts; null for none.</param>
    /// <returns>Ends when the endpoints that go are closed.</returns>
    /// <exception cref="RpcException">Nothing was replaced, and why.</exception>
    internal Task ChangeAsync(RpcServerChange change, HandlerPool? pool)
    {
        lock (_gate)
        {
            Task closing = Server.ChangeAsync(change);
            _handlers = change.Handlers is null ? _handlers : pool!;
            _filters = change.Interceptors is null ? _filters : pool is { HasFilters: true } ? pool : null;
            List<HandlerPool> used = [.. new[] { _handlers, _filters, Pings }.OfType<HandlerPool>()];
            foreach (HandlerPool old in _pools.Except(used))
            {
                old.Retire();
            }

            _pools = [.. _pools.Where(known => known.WorkerCount > 0).Union(used)];
            return closing;
        }
    }

    internal bool RemoveSession(Guid id) => _services?.RemoveSession(id) == true;

    private List<HandlerPool> Pools => _pools;

    /// <inheritdoc/>
    public override string ToString() => $"listener {Id} on {string.Join(", ", _server.Endpoints)}";
}
