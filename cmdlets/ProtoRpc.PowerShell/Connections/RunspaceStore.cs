using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;
using ProtoRpc.Client;
using ProtoRpc.Client.Schemas;

namespace ProtoRpc.PowerShell.Connections;

/// <summary>The cmdlets' state for one runspace, such as its connections and listeners. They are closed with
/// the runspace.</summary>
internal sealed class RunspaceStore
{
    private static readonly ConditionalWeakTable<Runspace, RunspaceStore> Stores = [];

    private readonly Lock _gate = new();
    private readonly List<RpcConnection> _connections = [];
    private readonly List<RpcListener> _listeners = [];
    private readonly List<StreamConversation> _streams = [];
    private PendingTrace? _trace;
    private PendingLog? _log;
    private int _lastId;
    private volatile bool _isClosed;

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

    /// <summary>The store of the current thread's runspace.</summary>
    public static RunspaceStore Current =>
        Stores.GetValue(Runspace.DefaultRunspace, runspace => new RunspaceStore(runspace));

    /// <summary>Makes the next calls without a connection begin with an empty call context, and without a
    /// session.</summary>
    public static void ForgetContexts(Runspace runspace)
    {
        if (Stores.TryGetValue(runspace, out RunspaceStore? store))
        {
            store.Clients.ForgetContexts();
        }
    }

    /// <summary>Whether the runspace has ended, and with it what the store had.</summary>
    public bool IsClosed => _isClosed;

    /// <summary>The lines of clients for the debug stream, until a cmdlet writes them.</summary>
    public PendingDebug DebugLog { get; } = new();

    /// <summary>The changes of Enable-RpcCompletion.</summary>
    public ShellCompletion Completion { get; } = new();

    /// <summary>The log of the runspace's clients.</summary>
    public PendingLog Log => _log ??= new PendingLog(DebugLog);

    /// <summary>The trace of what clients send and receive; on while a cmdlet writes to the debug
    /// stream.</summary>
    public PendingTrace Trace => _trace ??= new PendingTrace(DebugLog);

    /// <summary>The clients of calls without a connection, kept for later calls.</summary>
    public ClientPool Clients { get; } =
        new(ClientPool.DefaultIdleTimeout, ClientPool.DefaultMaxIdle, TimeProvider.System);

    /// <summary>The schemas of calls without a connection, kept for later calls.</summary>
    public SchemaCache Schemas { get; } = new(TimeProvider.System);

    /// <summary>The open connections, oldest first.</summary>
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

    /// <summary>The listeners that are running, or have stopped with records left to receive; oldest
    /// first.</summary>
    public IReadOnlyList<RpcListener> Listeners
    {
        get
        {
            lock (_gate)
            {
                // A handler can stop its listener itself.
                _listeners.RemoveAll(listener => listener.Completion.IsCompleted && listener.Records == 0);
                return [.. _listeners];
            }
        }
    }

    /// <summary>The schemas of an endpoint, from its connections, kept clients and listeners.</summary>
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
        // Removed when it is closed, because a script that only connects and disconnects never lists
        // connections.
        connection.WhenClosed(Remove);
        lock (_gate)
        {
            _connections.Add(connection);
        }
    }

    /// <summary>Gives a connection to another runspace, whose end closes it.</summary>
    public void Move(RpcConnection connection, RunspaceStore other)
    {
        Remove(connection);
        other.Add(connection);
    }

    /// <summary>Keeps a stream until its call has ended, or until the runspace closes.</summary>
    public void Add(StreamConversation stream)
    {
        lock (_gate)
        {
            _streams.Add(stream);
        }

        stream.WhenEnded(Remove);
        if (_isClosed)
        {
            stream.Close(StreamConversation.ByRunspace);
        }
    }

    /// <summary>Closes the streams that have the client of an endpoint for themselves.</summary>
    public void CloseStreamsOfEndpoints()
    {
        foreach (StreamConversation stream in Streams.Where(stream => stream.OwnsClient))
        {
            stream.Close(StreamConversation.ByConnection);
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

    /// <summary>Stops a listener and removes it from the store.</summary>
    /// <param name="listener">The listener.</param>
    /// <param name="drain">How long its running calls have to end; null for the listener's own time.</param>
    public void Stop(RpcListener listener, TimeSpan? drain)
    {
        listener.Stop(drain);
        lock (_gate)
        {
            _listeners.Remove(listener);
        }
    }

    /// <summary>The given connection, or the only open one.</summary>
    /// <param name="given">The connection; null if none is given.</param>
    /// <param name="alternative">The parameters that the error suggests instead of a connection.</param>
    /// <exception cref="RpcException">FailedPrecondition: the connection is closed, or there is not exactly
    /// one.</exception>
    public RpcConnection Resolve(RpcConnection? given, string alternative)
    {
        if (given is not null)
        {
            return given.IsOpen ? given : throw new RpcException(
                RpcStatusCode.FailedPrecondition, RpcErrorIds.ConnectionClosed,
                $"The connection to {given} {given.ClosedText}");
        }

        IReadOnlyList<RpcConnection> open = Connections;
        return open.Count switch
        {
            1 => open[0],
            0 => throw new RpcException(
                RpcStatusCode.FailedPrecondition, RpcErrorIds.NoConnection,
                $"There is no open connection. Run Connect-RpcEndpoint first, or give {alternative}."),
            _ => throw new RpcException(
                RpcStatusCode.FailedPrecondition, RpcErrorIds.AmbiguousConnection,
                $"There are {open.Count} open connections ({string.Join(", ", open.Take(5))}). "
                + "Choose one with -Connection, or pipe it in."),
        };
    }

    private IReadOnlyList<StreamConversation> Streams
    {
        get
        {
            lock (_gate)
            {
                return [.. _streams];
            }
        }
    }

    private void Remove(StreamConversation stream)
    {
        lock (_gate)
        {
            _streams.Remove(stream);
        }
    }

    private void Remove(RpcConnection connection)
    {
        lock (_gate)
        {
            _connections.Remove(connection);
        }
    }

    private void Close()
    {
        _isClosed = true;
        Completion.EndPrediction();
        foreach (StreamConversation stream in Streams)
        {
            stream.Close(StreamConversation.ByRunspace);
        }

        Clients.Dispose();
        foreach (RpcConnection connection in Connections)
        {
            connection.Dispose();
        }

        foreach (RpcListener listener in Listeners)
        {
            // If the script ends because of SIGTERM, running calls have time to end.
            Stop(listener, Termination.IsRequested ? null : TimeSpan.Zero);
        }
    }
}

/// <summary>The changes of Enable-RpcCompletion in a runspace.</summary>
internal sealed class ShellCompletion
{
    /// <summary>Whether completion of hashtables is on.</summary>
    public bool IsEnabled { get; set; }

    /// <summary>The body of the module's TabExpansion2, which completes hashtables; null if it is not
    /// installed.</summary>
    public ScriptBlock? Own { get; set; }

    /// <summary>The body of the previous TabExpansion2.</summary>
    public ScriptBlock? Previous { get; set; }

    /// <summary>Whether the previous function is the shell's own.</summary>
    public bool IsPreviousOfShell { get; set; }

    /// <summary>The predictor of the runspace; null for none.</summary>
    public IDisposable? Predictor { get; set; }

    /// <summary>Receives the completer of a parameter and the other arguments, while the shell resolves which
    /// parameter a place belongs to; otherwise null.</summary>
    public Action<object, IDictionary>? Asked { get; set; }

    /// <summary>Removes the predictor.</summary>
    public void EndPrediction()
    {
        Predictor?.Dispose();
        Predictor = null;
    }
}
