using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;
using ProtoRpc.Client.Kept;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>What the cmdlets keep for one runspace: its connections and listeners.
/// Closed with the runspace.</summary>
internal sealed class RunspaceStore
{
    private static readonly ConditionalWeakTable<Runspace, RunspaceStore> Stores = [];

    private readonly Lock _gate = new();
    private readonly List<RpcConnection> _connections = [];
    private readonly List<RpcListener> _listeners = [];
    private PendingTrace? _trace;
    private PendingLog? _log;
    private int _lastId;

    private RunspaceStore(Runspace runspace)
    {
        runspace.StateChanged += (_, e) =>
        {
            if (e.RunspaceStateInfo.State is RunspaceState.Closing or RunspaceState.Closed
                or RunspaceState.Broken)
            {
                Close();
            }
        };
    }

    /// <summary>The store of the runspace that runs the calling thread's code.</summary>
    public static RunspaceStore Current =>
        Stores.GetValue(Runspace.DefaultRunspace, runspace => new RunspaceStore(runspace));

    /// <summary>What clients have to say to Debug, until a cmdlet writes it.</summary>
    public PendingDebug DebugLog { get; } = new();

    /// <summary>What Enable-RpcCompletion changed.</summary>
    public ShellCompletion Completion { get; } = new();

    /// <summary>The log of the clients of the runspace.</summary>
    public PendingLog Log => _log ??= new PendingLog(DebugLog);

    /// <summary>What clients send and receive, while a cmdlet writes to the debug stream.</summary>
    public PendingTrace Trace => _trace ??= new PendingTrace(DebugLog);

    /// <summary>Clients of calls without a connection, kept for the next ones.</summary>
    public KeptClients Clients { get; } =
        new(KeptClients.DefaultIdleTimeout, KeptClients.DefaultMaxIdle, TimeProvider.System);

    /// <summary>Schemas of files that calls without a connection named.</summary>
    public KeptSchemas Schemas { get; } = new(TimeProvider.System);

    /// <summary>Connections that were not disconnected, oldest first.</summary>
    public IReadOnlyList<RpcConnection> Connections
    {
        get
        {
            lock (_gate)
            {
                _connections.RemoveAll(connection => !connection.IsOpen);
                return [.. _connections];
            }
        }
    }

    /// <summary>Listeners that were not stopped and received to the end, oldest first.</summary>
    public IReadOnlyList<RpcListener> Listeners
    {
        get
        {
            lock (_gate)
            {
                return [.. _listeners];
            }
        }
    }

    /// <summary>The schemas of an endpoint, as its connections, kept or not,
    /// and listeners know them.</summary>
    public IEnumerable<RpcSchema> SchemasOf(RpcEndpoint endpoint) => Connections
        .Where(connection => connection.Endpoint.Equals(endpoint))
        .Select(connection => connection.Schema)
        .Concat(Listeners.Where(listener => listener.Endpoint.Contains(endpoint))
            .Select(listener => listener.Schema))
        .OfType<RpcSchema>()
        .Concat(Clients.SchemasOf(endpoint))
        .Distinct();

    public int NextId() => Interlocked.Increment(ref _lastId);

    public void Add(RpcConnection connection)
    {
        lock (_gate)
        {
            _connections.Add(connection);
        }
    }

    public void Add(RpcListener listener)
    {
        lock (_gate)
        {
            _listeners.Add(listener);
        }

        Termination.Add(listener);
    }

    public void Remove(RpcListener listener)
    {
        lock (_gate)
        {
            _listeners.Remove(listener);
        }
    }

    /// <summary>The given connection, or the only open one.</summary>
    /// <param name="given">The connection; null for none given.</param>
    /// <param name="alternative">The parameters that would do instead of an open connection,
    /// for the error.</param>
    /// <exception cref="RpcException">FailedPrecondition:
    /// it is closed, or there is not exactly one.</exception>
    public RpcConnection Resolve(RpcConnection? given, string alternative)
    {
        if (given is not null)
        {
            return given.IsOpen ? given : throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The connection to {given} was closed. Run Connect-RpcEndpoint again.")
            {
                ErrorId = RpcErrorIds.ConnectionClosed,
            };
        }

        IReadOnlyList<RpcConnection> open = Connections;
        return open.Count switch
        {
            1 => open[0],
            0 => throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"There is no open connection. Run Connect-RpcEndpoint first, or give {alternative}.")
            {
                ErrorId = RpcErrorIds.NoConnection,
            },
            _ => throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"There are {open.Count} open connections ({string.Join(", ", open.Take(5))}). "
                + "Choose one with -Connection, or pipe it in.")
            {
                ErrorId = RpcErrorIds.AmbiguousConnection,
            },
        };
    }

    private void Close()
    {
        Completion.EndPrediction();
        Clients.Dispose();
        foreach (RpcConnection connection in Connections)
        {
            connection.Dispose();
        }

        foreach (RpcListener listener in Listeners)
        {
            // When a script ends because of SIGTERM, running calls have time to end.
            listener.Stop(Termination.IsRequested ? null : TimeSpan.Zero);
            Remove(listener);
        }
    }
}
