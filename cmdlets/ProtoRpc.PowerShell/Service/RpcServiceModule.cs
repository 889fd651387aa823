using System.Collections.Concurrent;
using System.Management.Automation;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>What the commands of a service share: the schema and the connection. Each module that
/// Import-RpcService or Export-RpcService makes has one.</summary>
/// <remarks>Only the functions of the module call it.</remarks>
public sealed partial class RpcServiceModule : IDisposable
{
    // Functions find their module by its id, in every runspace. It lives as long as the shell's module.
    private static readonly ConcurrentDictionary<string, WeakReference<RpcServiceModule>> Modules = new();

    private readonly Dictionary<string, ServiceCommand> _byMethod;
    private readonly Lock _gate = new();
    private readonly Func<CancellationToken, RpcConnection>? _connect;
    private RpcConnection? _connection;
    private RpcEndpoint? _endpoint;

    // Whether the connection is closed with the module.
    private bool _isOwn;

    /// <param name="plan">The commands.</param>
    /// <param name="connection">The connection that they use; null for the only open one.</param>
    /// <param name="connect">Opens a connection of the module's own, which is closed with it; null where
    /// there is none.</param>
    internal RpcServiceModule(
        ServicePlan plan, RpcConnection? connection, Func<CancellationToken, RpcConnection>? connect)
    {
        Plan = plan;
        _connection = connection;
        _connect = connect;
        _isOwn = connect is not null;
        _byMethod = plan.Commands.ToDictionary(command => command.Method.FullName, StringComparer.Ordinal);
        Modules[Id] = new(this);
    }

    /// <summary>Forgets the module.</summary>
    ~RpcServiceModule() => Modules.TryRemove(Id, out _);

    /// <summary>The connection that the commands use without -Connection; null for the only open one of the
    /// session.</summary>
    public RpcConnection? Connection
    {
        get
        {
            lock (_gate)
            {
                return _connection;
            }
        }
    }

    internal ServicePlan Plan { get; }

    /// <summary>The name of the module in this process.</summary>
    internal string Id { get; } = Guid.NewGuid().ToString();

    /// <summary>The module with an id; functions of Import-RpcService use it.</summary>
    /// <exception cref="RpcException">FailedPrecondition: it was removed.</exception>
    public static RpcServiceModule Find(string id) =>
        Modules.TryGetValue(id, out WeakReference<RpcServiceModule>? found)
        && found.TryGetTarget(out RpcServiceModule? module)
            ? module
            : throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                "The module of this command was removed. Run Import-RpcService again.")
            {
                ErrorId = RpcErrorIds.ModuleRemoved,
            };

    /// <summary>Begins a call; the module's functions use it.</summary>
    /// <param name="method">The full name of the method.</param>
    /// <param name="command">The function.</param>
    /// <param name="bound">Its parameters.</param>
    public RpcServiceCall Begin(string method, PSCmdlet command, IDictionary<string, object?> bound) =>
        new(this, _byMethod[method], command, bound);

    /// <summary>Closes the connection that the module opened itself.</summary>
    public void Dispose()
    {
        Modules.TryRemove(Id, out _);
        GC.SuppressFinalize(this);
        lock (_gate)
        {
            if (_isOwn)
            {
                _connection?.Dispose();
            }
        }
    }

    /// <summary>The connection of a call, opened when it is not, or not any more.</summary>
    /// <exception cref="RpcException">It cannot be opened.</exception>
    internal RpcConnection? ConnectionFor(CancellationToken cancellation)
    {
        lock (_gate)
        {
            if (_connection is { IsOpen: true } || (_connect is null && _endpoint is null))
            {
                return _connection;
            }

            _connection = _connect?.Invoke(cancellation) ?? Connect(_endpoint!, cancellation);
            _isOwn = true;
            RunspaceStore.Current.Add(_connection);
            return _connection;
        }
    }
    private RpcConnection Connect(RpcEndpoint endpoint, CancellationToken cancellation) => new(
        RunspaceStore.Current.NextId(),
        RpcClient.Connect(endpoint, Plan.Schema, new RpcClientOptions(), cancellation));
}
