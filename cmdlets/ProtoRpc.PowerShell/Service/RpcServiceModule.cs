using System.Management.Automation;
using System.Runtime.CompilerServices;
using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Runspaces;
using ProtoRpc.PowerShell.Service;

namespace ProtoRpc;

/// <summary>What the commands of a service share: the schema and the connection. Each module that
/// Import-RpcService or Export-RpcService makes has one.</summary>
public sealed partial class RpcServiceModule : IDisposable
{
    // In every runspace that imports the shell's module.
    private static readonly ConditionalWeakTable<PSModuleInfo, RpcServiceModule> Modules = [];

    private readonly Lock _gate = new();
    private readonly Func<CancellationToken, RpcClient>? _connect;

    // That of the runspace that imported the module, which other runspaces may call.
    private readonly RunspaceStore _store = RunspaceStore.Current;
    private RpcConnection? _connection;

    // Of a published module: an endpoint, or a name that is registered on this machine.
    private string? _endpoint;
    private string _connectName = "";

    // Whether a script has chosen the connection, which may be that of another server than _endpoint.
    private bool _isChosen;

    // Whether the connection is closed with the module.
    private bool _isOwn;
    private TemporaryHelp? _help;
    private IReadOnlyList<CmdletInfo> _cmdlets = [];
    private volatile bool _isRemoved;

    /// <param name="plan">The commands.</param>
    /// <param name="connection">The connection that they use; null for the only open one.</param>
    /// <param name="connect">Makes the client of a connection of the module's own, which is closed with it;
    /// null where there is none.</param>
    internal RpcServiceModule(
        ServicePlan plan, RpcConnection? connection, Func<CancellationToken, RpcClient>? connect)
    {
        Plan = plan;
        _connection = connection;
        _connect = connect;
        _isOwn = connect is not null;
    }

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

    /// <summary>The module of a command.</summary>
    /// <exception cref="RpcException">FailedPrecondition: it was removed.</exception>
    internal static RpcServiceModule Of(CommandInfo command) =>
        command is CmdletInfo { Module: { } module } cmdlet
        && Find(module, cmdlet.ImplementingType.Name, []) is { } found
            ? found
            : throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                "The module of this command was removed. Run Import-RpcService again.")
            {
                ErrorId = RpcErrorIds.ModuleRemoved,
            };

    // A module that exports the commands of modules that it has imported has copies of them, which say that
    // they are its own.
    private static RpcServiceModule? Find(PSModuleInfo module, string type, HashSet<PSModuleInfo> seen)
    {
        if (!seen.Add(module))
        {
            return null;
        }

        return Modules.TryGetValue(module, out RpcServiceModule? found)
            && !found._isRemoved && found.Plan.Find(type) is not null
            ? found
            : module.NestedModules.Select(nested => Find(nested, type, seen))
                .FirstOrDefault(nested => nested is not null);
    }

    /// <summary>Whether a module has commands of services.</summary>
    internal static bool IsKnown(PSModuleInfo module) =>
        Modules.TryGetValue(module, out RpcServiceModule? found) && !found._isRemoved;

    /// <summary>Begins a call.</summary>
    internal ServiceCall Begin(RpcServiceCommand command) =>
        new(this, Plan.Find(command.GetType().Name)!, command);

    /// <summary>Makes the commands and their help. Nothing of it is seen in the session yet.</summary>
    /// <param name="warn">Is told when there will be no help, without which the commands work.</param>
    internal void Prepare(Action<string> warn)
    {
        try
        {
            _help = new TemporaryHelp(CommandHelp.Write(Plan.Commands));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            warn(
                $"Cannot write the help to '{Path.GetTempPath()}': {e.Message} The commands are imported "
                + $"without help. Set {(OperatingSystem.IsWindows() ? "TEMP" : "TMPDIR")} to a folder that "
                + "can be written to.");
        }

        _cmdlets = PublishedCommands.Make(Plan.Commands, _help?.Path);
    }

    /// <summary>Gives a module of the session the commands that were prepared.</summary>
    /// <param name="module">The module.</param>
    /// <param name="except">The names of commands that are left out.</param>
    internal void Publish(PSModuleInfo module, HashSet<string> except)
    {
        Modules.Add(module, this);
        PublishedCommands.Add(module, _cmdlets.Where(cmdlet => !except.Contains(cmdlet.Name)));
        _cmdlets = [];
    }

    /// <summary>Ends the module: its commands fail, and the connection that it opened itself is
    /// closed.</summary>
    public void Dispose()
    {
        _isRemoved = true;
        _help?.Dispose();
        lock (_gate)
        {
            if (_isOwn)
            {
                _connection?.Dispose();
            }
        }
    }

    /// <summary>The connection of a call, opened when it is not, or not any more.</summary>
    /// <exception cref="RpcException">It cannot be opened. FailedPrecondition: a script has chosen it, and it
    /// was closed.</exception>
    internal RpcConnection? ConnectionFor(CancellationToken cancellation)
    {
        lock (_gate)
        {
            if (_connection is { IsOpen: true })
            {
                return _connection;
            }

            if (_isChosen)
            {
                throw new RpcException(
                    RpcStatusCode.FailedPrecondition,
                    $"The connection to {_connection}, which {_connectName} opened, was closed. "
                    + $"Run {_connectName} again.")
                {
                    ErrorId = RpcErrorIds.ConnectionClosed,
                };
            }

            if (_connect is null && _endpoint is null)
            {
                return _connection;
            }

            // A thread job that calls would close the connection under the calls of others when it ends.
            RunspaceStore store = _store.IsClosed ? RunspaceStore.Current : _store;
            if (_connect is null && !RpcEndpoint.TryParse(_endpoint, out _))
            {
                RpcConnection named = ConnectNamed();
                RunspaceStore.Current.Move(named, store);
                _connection = named;
                _isOwn = true;
                return named;
            }

            RpcClient client = _connect?.Invoke(cancellation)
                ?? RpcClient.Connect(_endpoint!, Plan.Schema, new RpcClientOptions(), cancellation);
            _connection = new RpcConnection(store.NextId(), client);
            _isOwn = true;
            store.Add(_connection);
            return _connection;
        }
    }
}
