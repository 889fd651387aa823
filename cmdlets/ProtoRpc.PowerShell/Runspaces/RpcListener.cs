using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Runspaces;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>A listener as the shell shows it.</summary>
public class RpcListener
{
    private readonly IRpcServer _server;
    private readonly RpcServer? _services;
    private readonly HandlerPool _pool;

    internal RpcListener(int id, RpcSchema schema, RpcServer server, HandlerPool pool)
    {
        Id = id;
        Schema = schema;
        InterfaceId = [.. server.Services.Select(service => service.Value)];
        _server = server;
        _services = server;
        _pool = pool;
    }

    internal RpcListener(int id, RpcRawServer server, HandlerPool pool)
    {
        Id = id;
        InterfaceId = [server.InterfaceId];
        _server = server;
        _pool = pool;
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

    /// <summary>Calls that run or wait for a worker.</summary>
    public int InFlight => _server.Counters.InFlight;

    /// <summary>Workers that run handlers; made when they are needed.</summary>
    public int Workers => _pool.WorkerCount;

    /// <summary>Workers that were written off: their handlers were stopped,
    /// and still run .NET code.</summary>
    public int StuckWorkers => _pool.StuckWorkerCount;

    /// <summary>When it began to listen.</summary>
    public DateTimeOffset Started { get; } = DateTimeOffset.Now;

    /// <summary>Records that handlers wrote to their streams and that wait for Receive-RpcListener.</summary>
    public int Records => Streams.Count;

    /// <summary>Records that were dropped because nobody received them.</summary>
    public long DroppedRecords => Streams.Dropped;

    /// <summary>The last record that a handler wrote.</summary>
    public string LastRecord => Streams.Last;

    /// <summary>Writes the calls to a file; null for none.</summary>
    internal CallRecord? Record { get; set; }

    internal IReadOnlyList<RpcSession> Sessions => _services?.Sessions ?? [];

    internal HandlerStreams Streams => _pool.Streams;

    internal bool IsListening => _server.IsListening;

    internal Task Completion => _server.Completion;

    /// <summary>Refuses new calls, lets running ones end within the drain time, stops the rest.</summary>
    internal void Stop(TimeSpan? drain)
    {
        _server.StopAsync(drain).GetAwaiter().GetResult();
        _pool.Dispose();
        Record?.Dispose();
        Termination.Remove(this);
    }

    internal bool RemoveSession(Guid id) => _services?.RemoveSession(id) == true;

    /// <inheritdoc/>
    public override string ToString() => $"listener {Id} on {string.Join(", ", _server.Endpoints)}";
}
