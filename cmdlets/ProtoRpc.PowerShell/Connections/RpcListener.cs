using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>A listener, as the shell shows it.</summary>
public class RpcListener
{
    private readonly IRpcServer _server;
    private readonly RpcServer? _services;
    private readonly Lock _gate = new();
    private HandlerPool _handlers;
    private HandlerPool? _filters;

    // Includes replaced pools whose last calls are still running.
    private List<HandlerPool> _pools;
    private bool _isStopped;
    private readonly TaskCompletionSource _completion =
        new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _stopsItself;

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
        pool.StopListener = BeginStop;
    }

    internal RpcListener(int id, RpcRawServer server, HandlerPool pool)
    {
        Id = id;
        InterfaceId = [server.InterfaceId];
        _server = server;
        _handlers = pool;
        _filters = pool.HasFilters ? pool : null;
        _pools = [pool];
        pool.StopListener = BeginStop;
    }

    /// <summary>The id of the listener in this runspace.</summary>
    public int Id { get; }

    /// <summary><c>Listening</c> or <c>Stopped</c>.</summary>
    public string State => IsListening ? "Listening" : "Stopped";

    /// <summary>The full names of the services; empty for a raw listener.</summary>
    public string[] Service => [.. _services?.Services.Select(service => service.Key.FullName) ?? []];

    /// <summary>The interface ids on the native protocol.</summary>
    public Guid[] InterfaceId { get; }

    /// <summary>The bound endpoints, with the ports that the system assigned.</summary>
    public RpcEndpoint[] Endpoint => [.. _server.Endpoints];

    /// <summary>The schema of the services; null for a raw listener.</summary>
    public RpcSchema? Schema { get; }

    /// <summary>Whether this is a raw listener, which serves bytes instead of messages.</summary>
    public bool IsRaw => _services is null;

    /// <summary>The number of open connections.</summary>
    public int Connections => _server.Counters.Connections;

    /// <summary>The number of connections accepted since the start.</summary>
    public long Accepted => _server.Counters.Accepted;

    /// <summary>The number of completed calls.</summary>
    public long Calls => _server.Counters.Calls;

    /// <summary>The number of failed calls.</summary>
    public long Errors => _server.Counters.Errors;

    /// <summary>The number of calls that are running or waiting.</summary>
    public int InFlight => _server.Counters.InFlight;

    /// <summary>The part of <see cref="InFlight"/> that waits for other calls to end, or for a
    /// worker.</summary>
    public int Queued => _server.Counters.Queued + Pools.Sum(pool => pool.QueuedCount);

    /// <summary>The part of <see cref="Errors"/> that was rejected because the listener was too
    /// busy.</summary>
    public long Refused => _server.Counters.Refused;

    /// <summary>How often the listener could not accept a connection, because its process had too few free
    /// file handles.</summary>
    public long HandleShortages => _server.Counters.HandleShortages;

    /// <summary>The number of workers, which run handlers. They are created on demand.</summary>
    public int Workers => Pools.Sum(pool => pool.WorkerCount);

    /// <summary>The number of workers that were stopped but still run .NET code. They are written
    /// off.</summary>
    public int StuckWorkers => Pools.Sum(pool => pool.StuckWorkerCount);

    /// <summary>When the listener started.</summary>
    public DateTimeOffset Started { get; } = DateTimeOffset.Now;

    /// <summary>The number of handlers' stream records that wait for Receive-RpcListener.</summary>
    public int Records => Streams.Count;

    /// <summary>The number of records that were dropped before they were received.</summary>
    public long DroppedRecords => Streams.Dropped;

    /// <summary>The last record that a handler wrote.</summary>
    public string LastRecord => Streams.Last;

    /// <summary>Writes the calls to a file; null for none.</summary>
    internal CallRecord? Record { get; set; }

    internal IReadOnlyList<RpcSession> Sessions => _services?.Sessions ?? [];

    internal HandlerStreams Streams => _handlers.Streams;

    /// <summary>The interceptors before the filters.</summary>
    internal IReadOnlyList<IRpcInterceptor> Authorization { get; init; } = [];

    /// <summary>The workers of the ping handler; null for none.</summary>
    internal HandlerPool? Pings { get; init; }

    /// <summary>Adds HTTP support to a server's options if any endpoint needs it.</summary>
    internal Func<RpcEndpoint[], RpcServerOptions>? AddHttp { get; init; }

    /// <summary>The HTTP endpoints and their checks of callers; null for a raw listener.</summary>
    internal HttpEndpoints? Http { get; init; }

    /// <summary>The server of the services.</summary>
    /// <exception cref="RpcException">FailedPrecondition: this is a raw listener.</exception>
    internal RpcServer Server => _services ?? throw new RpcException(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.RawListener,
        $"The {this} is a raw listener, which cannot be changed. Stop it, and start another.");

    /// <summary>The workers of the handlers.</summary>
    internal HandlerPool Handlers => _handlers;

    internal bool IsListening => _server.IsListening;

    /// <summary>Completes when the listener has stopped, and has written what it records.</summary>
    internal Task Completion => _completion.Task;

    /// <summary>Rejects new calls, lets running calls end within the drain time, and stops the
    /// rest.</summary>
    internal void Stop(TimeSpan? drain)
    {
        try
        {
            _server.StopAsync(drain).GetAwaiter().GetResult();
            lock (_gate)
            {
                _isStopped = true;
            }

            Pools.ForEach(pool => pool.Dispose());

            Record?.Dispose();
            Termination.Remove(this);
        }
        finally
        {
            _completion.TrySetResult();
        }
    }

    /// <summary>Stops the listener for one of its handlers. Another thread waits for the running calls,
    /// because that handler's is one of them.</summary>
    private void BeginStop()
    {
        if (Interlocked.Exchange(ref _stopsItself, 1) == 0)
        {
            Task.Run(() => Stop(drain: null));
        }
    }

    /// <summary>Replaces handlers, filters and endpoints. Either everything is replaced or nothing.</summary>
    /// <param name="change">The replacements.</param>
    /// <param name="pool">The workers of the new scripts; null for none.</param>
    /// <returns>Completes when the removed endpoints are closed.</returns>
    /// <exception cref="RpcException">Nothing was replaced, and why.</exception>
    internal Task ChangeAsync(RpcServerChange change, HandlerPool? pool)
    {
        lock (_gate)
        {
            Task closing = Server.ChangeAsync(change);
            _handlers = change.Handlers is null ? _handlers : pool!;
            _filters = change.Interceptors is null ? _filters : pool is { HasFilters: true } ? pool : null;
            List<HandlerPool> used = [.. new[] { _handlers, _filters, Pings }.OfType<HandlerPool>()];
            Use(used);
            return closing;
        }
    }

    /// <summary>Sets whose scripts are used from now on. The listener stops their workers when it stops;
    /// workers of other scripts end when their calls have ended.</summary>
    private protected void Use(IReadOnlyCollection<HandlerPool> used)
    {
        lock (_gate)
        {
            HandlerPool[] earlier = [.. _pools.Except(used)];
            Array.ForEach(earlier, pool => pool.Retire());
            foreach (HandlerPool pool in used)
            {
                pool.StopListener = BeginStop;
                pool.Resume();
            }

            // A previous pool without workers has nothing to stop, so it is only released.
            _pools = [.. earlier.Where(pool => pool.WorkerCount > 0), .. used];
            if (!_isStopped)
            {
                return;
            }
        }

        Pools.ForEach(pool => pool.Dispose());
    }

    internal bool RemoveSession(Guid id) => _services?.RemoveSession(id) == true;

    private List<HandlerPool> Pools => _pools;

    /// <inheritdoc/>
    public override string ToString() => $"listener {Id} on {string.Join(", ", _server.Endpoints)}";
}
