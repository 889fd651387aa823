using System.Collections.ObjectModel;
using System.Runtime.CompilerServices;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.ServiceCommands;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc;

/// <summary>The schema and the connection that the commands of a service share. Each module that
/// Import-RpcService or Export-RpcService makes has one.</summary>
public sealed class RpcServiceModule : IDisposable
{
    // Shared by all runspaces that import the PowerShell module.
    private static readonly ConditionalWeakTable<PSModuleInfo, RpcServiceModule> Modules = [];

    // The module determines these parameters. The others are about connecting.
    private static readonly HashSet<string> NotOfModule = new(StringComparer.OrdinalIgnoreCase)
    {
        "Endpoint", "Listener", "Schema", "Service", "InterfaceId", "Lazy", "Reflection",
    };

    private readonly Lock _gate = new();
    private readonly Func<CancellationToken, RpcClient>? _connect;

    // The store of the runspace that imported the module. Other runspaces may call its commands.
    private readonly RunspaceStore _store = RunspaceStore.Current;
    private RpcConnection? _connection;

    // For a published module: an endpoint, or a name that is registered on this machine.
    private string? _endpoint;
    private string _connectName = "";

    // Whether a script has set the connection, which may be to another server than _endpoint.
    private bool _isChosen;

    // Whether to close the connection when the module is removed.
    private bool _isOwn;
    private TemporaryHelp? _help;
    private IReadOnlyList<CmdletInfo> _cmdlets = [];
    private volatile bool _isRemoved;

    /// <param name="plan">The commands.</param>
    /// <param name="connection">The connection that they use; null for the only open one.</param>
    /// <param name="connect">Makes the client of the module's own connection, which is closed with the
    /// module; null if the module opens no connection.</param>
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
    internal static RpcServiceModule From(CommandInfo command) =>
        command is CmdletInfo { Module: { } module } cmdlet
        && Find(module, cmdlet.ImplementingType.Name, []) is { } found
            ? found
            : throw new RpcException(
                RpcStatusCode.FailedPrecondition, RpcErrorIds.ModuleRemoved,
                "The module of this command was removed. Run Import-RpcService again.");

    // A module that exports the commands of imported modules contains copies of them, which have it as their
    // module.
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

    internal ServiceCall Begin(RpcServiceCommand command) =>
        new(this, Plan.Find(command.GetType().Name)!, command);

    /// <summary>Makes the commands and their help, without adding them to the session.</summary>
    /// <param name="warn">Writes a warning if the help cannot be written. The commands work without
    /// help.</param>
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

    /// <summary>The connection of a call. It is opened if it is not open.</summary>
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
                    RpcStatusCode.FailedPrecondition, RpcErrorIds.ConnectionClosed,
                    $"The connection to {_connection}, which {_connectName} opened, was closed. "
                    + $"Run {_connectName} again.");
            }

            if (_connect is null && _endpoint is null)
            {
                return _connection;
            }

            // In the importing runspace's store: the store of a thread job would close the connection at the
            // job's end, while other code uses it.
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

    /// <summary>Reads the schema of a module's folder, and gives the module its commands; the module's script
    /// uses it.</summary>
    /// <param name="module">The module.</param>
    /// <param name="path">The descriptor set.</param>
    /// <param name="services">The services.</param>
    /// <param name="prefix">The start of each noun.</param>
    /// <param name="connectName">The command that connects.</param>
    /// <param name="endpoint">The endpoint or registered name that the first call connects to; null for
    /// none.</param>
    /// <exception cref="RpcException">The file is missing, or is not the exported file. FailedPrecondition:
    /// another module of this name is loaded.</exception>
    public static RpcServiceModule Load(
        PSModuleInfo module, string path, string[] services, string prefix, string connectName,
        string? endpoint)
    {
        ArgumentNullException.ThrowIfNull(module);
        SessionModules.RequireOnly(module.Name, loading: module);
        RpcSchema schema = RpcSchemaLoader.Load([path], new RpcSchemaLoadOptions());
        ServicePlan plan = ServicePlan.Create(schema, services, prefix, connectName);
        RpcServiceModule service = new(plan, connection: null, connect: null)
        {
            _endpoint = string.IsNullOrEmpty(endpoint) ? null : endpoint,
            _connectName = connectName,
        };
        IReadOnlyList<CmdletInfo> cmdlets = PublishedCommands.Make(
            plan.Commands, ModuleFolder.HelpPath(Path.GetDirectoryName(path)!, module.Name));
        Modules.Add(module, service);
        PublishedCommands.Add(module, cmdlets);
        return service;
    }

    /// <summary>The parameters of Connect-RpcEndpoint that the module's command for connecting
    /// takes.</summary>
    /// <param name="command">The command.</param>
    public RuntimeDefinedParameterDictionary ConnectParameters(PSCmdlet command)
    {
        ArgumentNullException.ThrowIfNull(command);
        RuntimeDefinedParameterDictionary parameters = [];
        CommandInfo connect =
            command.InvokeCommand.GetCommand(@"ProtoRpc\Connect-RpcEndpoint", CommandTypes.Cmdlet);
        foreach (ParameterMetadata parameter in connect.Parameters.Values)
        {
            if (!NotOfModule.Contains(parameter.Name) && !Cmdlet.CommonParameters.Contains(parameter.Name))
            {
                // In one parameter set, although the cmdlet may have several.
                Collection<Attribute> attributes =
                [
                    .. parameter.Attributes.Where(attribute => attribute is not ParameterAttribute),
                    new ParameterAttribute(),
                ];
                parameters.Add(parameter.Name, new(parameter.Name, parameter.ParameterType, attributes));
            }
        }

        return parameters;
    }

    /// <summary>Connects the commands of the module, and closes the connection that it opened
    /// before.</summary>
    /// <param name="command">The command for connecting.</param>
    /// <param name="bound">Its parameters, those of Connect-RpcEndpoint among them.</param>
    /// <returns>The connection.</returns>
    public RpcConnection Connect(PSCmdlet command, IDictionary<string, object?> bound)
    {
        ArgumentNullException.ThrowIfNull(command);
        ArgumentNullException.ThrowIfNull(bound);
        using System.Management.Automation.PowerShell shell = ConnectShell();
        foreach ((string name, object? value) in bound)
        {
            // PowerShell also binds the common parameters. ErrorAction is set below.
            if (name is not ("PassThru" or "ErrorAction" or "Endpoint"))
            {
                shell.AddParameter(name, value);
            }
        }

        RpcConnection connection;
        try
        {
            string? endpoint = bound.TryGetValue("Endpoint", out object? given) ? (string)given! : _endpoint;
            if (endpoint is not null)
            {
                // A pattern that matches several names would open several connections.
                shell.AddParameter("Endpoint", EndpointTarget.FindOne(endpoint).RequireText());
            }

            connection = shell.Invoke<RpcConnection>()[0];
        }
        catch (RpcException e)
        {
            command.ThrowTerminatingError(RpcErrors.ToRecord(e, null));
            throw;
        }
        catch (RuntimeException e)
        {
            command.ThrowTerminatingError(e.ErrorRecord);
            throw;
        }

        lock (_gate)
        {
            if (_isOwn)
            {
                _connection?.Dispose();
            }

            _connection = connection;
            _isOwn = true;
            _isChosen = true;
        }

        return connection;
    }

    // The registration of the name contains the options for connecting, and references to secrets.
    private RpcConnection ConnectNamed()
    {
        using System.Management.Automation.PowerShell shell = ConnectShell();
        shell.AddParameter("Endpoint", EndpointTarget.FindOne(_endpoint!).RequireText());
        try
        {
            return shell.Invoke<RpcConnection>()[0];
        }
        catch (RuntimeException e) when (e.ErrorRecord.Exception is RpcException cause)
        {
            throw cause;
        }
    }

    // An error ends the command, because it cannot continue without a connection.
    private System.Management.Automation.PowerShell ConnectShell() =>
        System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace)
            .AddCommand(@"ProtoRpc\Connect-RpcEndpoint")
            .AddParameter("Schema", Plan.Schema)
            .AddParameter("ErrorAction", ActionPreference.Stop);
}

/// <summary>The modules and commands of the session.</summary>
/// <param name="cmdlet">Runs in the session.</param>
internal sealed class SessionModules(PSCmdlet cmdlet)
{
    // For more names, listing all commands once is faster than searching each.
    private const int FewNames = 64;
    private const CommandTypes Kinds =
        CommandTypes.Function | CommandTypes.Cmdlet | CommandTypes.Alias | CommandTypes.Filter;

    private const string Script =
        """
        param($service, $name, $restore, $hidden)
        $ExecutionContext.SessionState.Module.OnRemove = {
            & $restore $name $hidden
            $service.Dispose()
        }
        $ExecutionContext.SessionState.Module.PrivateData = $service
        Microsoft.PowerShell.Core\Export-ModuleMember
        """;

    // PowerShell prefers functions and aliases of the session to cmdlets, so an alias with the name is
    // created for the cmdlet, because aliases are preferred to functions. It is not an alias of the module,
    // because its name would be found in the module again.
    private const string HidingScript =
        """
        param($name, $hidden, $commands)
        $before = @{}
        foreach ($alias in Microsoft.PowerShell.Utility\Get-Alias -Scope Global) {
            $before[$alias.Name] = @{
                Name = $alias.Name
                Value = $alias.Definition
                Option = $alias.Options
                Description = $alias.Description
            }
        }
        foreach ($command in $commands) {
            $alias = @{ Name = $command; Value = "$name\$command"; Scope = 'Global'; Force = $true }
            Microsoft.PowerShell.Utility\Set-Alias @alias -ErrorAction Stop
            $hidden[$command] = $before[$command]
        }
        """;

    // The previous alias is restored, unless another one was set in the meantime.
    private const string RestoringScript =
        """
        param($name, $hidden)
        if ($hidden.Count -eq 0) { return }
        $now = @{}
        foreach ($alias in Microsoft.PowerShell.Utility\Get-Alias -Scope Global) {
            $now[$alias.Name] = $alias.Definition
        }
        foreach ($command in @($hidden.Keys)) {
            if ($now[$command] -ne "$name\$command") { continue }
            Microsoft.PowerShell.Utility\Remove-Alias $command -Scope Global -Force -ErrorAction Ignore
            $before = $hidden[$command]
            if ($before) { Microsoft.PowerShell.Utility\Set-Alias @before -Scope Global -ErrorAction Ignore }
        }
        """;

    /// <summary>The module of an earlier import with the same name; or null.</summary>
    public PSModuleInfo? FindImported(string name) => Run("Get-Module", new() { ["Name"] = name })
        .Select(item => (PSModuleInfo)item.BaseObject)
        .FirstOrDefault(module => module.PrivateData is RpcServiceModule
            or PSObject { BaseObject: RpcServiceModule });

    /// <summary>Checks that no other loaded module with commands of services has this name. The shell would
    /// keep the commands of the other module without a warning.</summary>
    /// <param name="name">The name.</param>
    /// <param name="loading">The module that gets the name, or that is replaced; null for none.</param>
    /// <exception cref="RpcException">FailedPrecondition: there is such a module.</exception>
    public static void RequireOnly(string name, PSModuleInfo? loading)
    {
        PSModuleInfo? other = Run("Get-Module", new() { ["Name"] = name })
            .Select(item => (PSModuleInfo)item.BaseObject)
            .FirstOrDefault(module => module != loading && RpcServiceModule.IsKnown(module));
        if (other is not null)
        {
            string path = File.Exists(other.Path) ? $"from '{other.Path}'" : "by Import-RpcService";
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"A module named '{name}' is loaded {path}. "
                + $"Run Remove-Module {name}, or use another -Prefix.");
        }
    }

    /// <summary>The commands with some names, also of modules that are loaded when they are first
    /// used.</summary>
    /// <param name="names">The names.</param>
    /// <param name="except">A module whose commands are left out; null for none.</param>
    public List<CommandInfo> FindCommands(IReadOnlyCollection<string> names, PSModuleInfo? except)
    {
        IEnumerable<CommandInfo> found;
        if (names.Count <= FewNames)
        {
            found = names.Select(name => cmdlet.InvokeCommand.GetCommand(name, Kinds)).OfType<CommandInfo>();
        }
        else
        {
            HashSet<string> wanted = new(names, StringComparer.OrdinalIgnoreCase);
            found = Run("Get-Command", new() { ["CommandType"] = Kinds, ["ErrorAction"] = "Ignore" })
                .Select(item => (CommandInfo)item.BaseObject)
                .Where(command => wanted.Contains(command.Name));
        }

        return
        [
            .. found.DistinctBy(command => command.Name, StringComparer.OrdinalIgnoreCase)
                .Select(command => Hidden(command, except))
                .Where(command => except is null || command.Module != except),
        ];
    }

    // If a module's alias hides another command, returns the hidden command.
    private CommandInfo Hidden(CommandInfo command, PSModuleInfo? module) =>
        module is not null && command is AliasInfo alias
            && alias.Definition.Equals(
                $@"{module.Name}\{alias.Name}", StringComparison.OrdinalIgnoreCase)
            ? cmdlet.InvokeCommand.GetCommand(
                alias.Name, CommandTypes.Function | CommandTypes.Filter) ?? alias
            : command;

    /// <summary>Removes a module; null for none.</summary>
    public void Remove(PSModuleInfo? module)
    {
        if (module is not null)
        {
            Run("Remove-Module", new() { ["ModuleInfo"] = module, ["Force"] = true });
        }
    }

    /// <summary>Makes a module of commands, and imports it into the session.</summary>
    /// <param name="service">The service module whose commands are imported.</param>
    /// <param name="except">The names of commands that are left out.</param>
    /// <param name="others">Commands with the names of the module's commands, which the module hides.</param>
    /// <exception cref="RpcException">FailedPrecondition: the session does not take it.</exception>
    public PSModuleInfo Import(
        RpcServiceModule service, HashSet<string> except, IEnumerable<CommandInfo> others)
    {
        string name = service.Plan.ModuleName;

        // Aliases that a module creates, even global ones, are removed with it, so these are created outside.
        PSModuleInfo global = new(linkToGlobal: true);
        Hashtable hiding = new(StringComparer.OrdinalIgnoreCase);
        ScriptBlock restore = global.NewBoundScriptBlock(ScriptBlock.Create(RestoringScript));
        PSModuleInfo module = (PSModuleInfo)Run("New-Module", new()
        {
            ["Name"] = name,
            ["ScriptBlock"] = ScriptBlock.Create(Script),
            ["ArgumentList"] = new object[] { service, name, restore, hiding },
        })[0].BaseObject;
        service.Publish(module, except);
        try
        {
            Run("Import-Module", new()
            {
                ["ModuleInfo"] = module,
                ["Global"] = true,
                ["DisableNameChecking"] = true,
            });
            string[] hidden =
            [
                .. others.Where(command => command.CommandType != CommandTypes.Cmdlet)
                    .Select(command => command.Name),
            ];
            if (hidden.Length > 0)
            {
                global.Invoke(ScriptBlock.Create(HidingScript), name, hiding, hidden);
            }
        }
        catch (RuntimeException e) when (e is not PipelineStoppedException)
        {
            Remove(module);
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The module '{name}' cannot be imported: {e.Message} "
                + "Remove what is in its way, or use another -Prefix.",
                e);
        }

        return module;
    }

    private static Collection<PSObject> Run(string command, Dictionary<string, object> parameters)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        Collection<PSObject> results = shell.AddCommand($@"Microsoft.PowerShell.Core\{command}")
            .AddParameters(parameters).Invoke();
        return shell.Streams.Error is [{ } error, ..]
            ? throw new RuntimeException(error.ToString(), error.Exception, error)
            : results;
    }
}
