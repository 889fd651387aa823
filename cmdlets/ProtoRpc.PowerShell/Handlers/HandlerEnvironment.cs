using System.Management.Automation.Language;
using System.Management.Automation.Runspaces;
using ProtoRpc.Schema.Sources.Protoc;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The initial state of a listener's workers: modules, preferences and the current location, and the
/// caller's functions, aliases and variables that the handlers use.</summary>
/// <remarks>Made on the caller's thread from the caller's session; the workers only read it.</remarks>
internal sealed class HandlerEnvironment
{
    // Every runspace loads these modules on demand.
    private static readonly HashSet<string> BuiltInModules = new(StringComparer.OrdinalIgnoreCase)
    {
        "Microsoft.PowerShell.Core", "Microsoft.PowerShell.Utility", "Microsoft.PowerShell.Management",
        "Microsoft.PowerShell.Security", "Microsoft.PowerShell.Host",
    };

    private readonly PSCmdlet _caller;
    private readonly HashSet<string> _seenCommands = new(StringComparer.OrdinalIgnoreCase);
    private readonly List<KeyValuePair<string, ScriptSource>> _functions = [];
    private readonly List<PSModuleInfo> _modules = [];
    private readonly Dictionary<ScriptBlock, ScriptSource> _added = new(ReferenceEqualityComparer.Instance);

    /// <param name="caller">The cmdlet, in the caller's session.</param>
    /// <param name="forget">Removes the data of a call from a runspace, so that the next caller does not get
    /// it: sessions on other servers.</param>
    public HandlerEnvironment(PSCmdlet caller, Action<Runspace> forget)
    {
        _caller = caller;
        Forget = forget;
        State = InitialSessionState.CreateDefault();
        State.LanguageMode = caller.SessionState.LanguageMode;
        State.ThrowOnRunspaceOpenError = true;
        // The caller's drives, such as TestDrive: of Pester, are not those of the workers.
        Location = caller.SessionState.Path.CurrentFileSystemLocation.ProviderPath;
        SetVariable("ProgressPreference", ActionPreference.SilentlyContinue);
    }

    /// <summary>Called with a runspace before each call or check of a caller.</summary>
    public Action<Runspace> Forget { get; }

    /// <summary>The initial state of a worker's runspace.</summary>
    public InitialSessionState State { get; }

    /// <summary>The caller's folder. Relative paths of handlers are relative to it.</summary>
    public string Location { get; }

    /// <summary>Modules of the caller's session that no file has, such as those of Import-RpcService. They
    /// have cmdlets only, which other runspaces can import.</summary>
    public IReadOnlyList<PSModuleInfo> Modules => _modules;

    /// <summary>The functions by name. If the name is empty, the source contains it.</summary>
    public IReadOnlyList<KeyValuePair<string, ScriptSource>> Functions => _functions;

    /// <summary>Runs once in each worker, before its first call.</summary>
    public ScriptSource? Initialization { get; private set; }

    /// <summary>The variables of the caller that scripts read although workers do not have them.</summary>
    public SessionVariables Unset { get; } = new();

    /// <summary>Sets a variable of the workers.</summary>
    public void SetVariable(string name, object? value) =>
        State.Variables.Add(new SessionStateVariableEntry(name, value, description: null));

    /// <summary>Imports a module into each worker.</summary>
    public void AddModule(string nameOrPath) => State.ImportPSModule([nameOrPath]);

    /// <summary>Adds the command that imports one of <see cref="Modules"/> into the shell's
    /// runspace.</summary>
    public static Shell AddImport(Shell shell, PSModuleInfo module) =>
        shell.AddCommand(@"Microsoft.PowerShell.Core\Import-Module")
            .AddParameter("ModuleInfo", module)
            .AddParameter("Global")
            .AddParameter("DisableNameChecking")
            .AddParameter("ErrorAction", ActionPreference.Stop);

    /// <summary>Opens a runspace that is not a worker's, with the modules and functions.</summary>
    public Runspace OpenRunspace()
    {
        Runspace runspace = RunspaceFactory.CreateRunspace(State);
        try
        {
            runspace.Open();
            runspace.SessionStateProxy.Path.SetLocation(WildcardPattern.Escape(Location));
            using Shell shell = Shell.Create();
            shell.Runspace = runspace;
            foreach (PSModuleInfo module in _modules)
            {
                shell.Commands.Clear();
                AddImport(shell, module).Invoke();
            }

            foreach ((string name, ScriptSource source) in _functions)
            {
                shell.Commands.Clear();
                string text = source.Parse().ToString();
                shell.AddScript(name.Length == 0 ? text : $"function global:{name} {{ {text} }}").Invoke();
            }

            return runspace;
        }
        catch
        {
            runspace.Dispose();
            throw;
        }
    }

    /// <param name="block">The block that each worker runs once.</param>
    /// <param name="name">How the user wrote its setting, for errors.</param>
    public void SetInitialization(ScriptBlock block, string name) => Initialization = AddPlain(block, name);

    /// <summary>Adds a block, the parts of the caller's session that it uses, and the variables that
    /// <c>GetNewClosure()</c> stored in it.</summary>
    /// <exception cref="RpcException">InvalidArgument: a variable of <c>$using:</c> does not exist, or
    /// workers cannot use something that the block needs.</exception>
    public ScriptSource Add(ScriptBlock block)
    {
        if (!_added.TryGetValue(block, out ScriptSource? source))
        {
            // A closure may contain itself, so its source must exist before its variables are added.
            Dictionary<string, object?> variables = new(StringComparer.OrdinalIgnoreCase);
            _added.Add(block, source = ScriptSource.OfBlock(block, variables));
            foreach (PSVariable kept in ClosureVariables.Get(block, _caller.SessionState))
            {
                object? value = BlockOf(kept.Value) is { } inner ? Add(inner) : kept.Value;
                variables[kept.Name] = value;
                variables[ScriptSource.UsingName(kept.Name)] = value;
            }

            TakeOver(block.Ast, variables);
        }

        return source;
    }

    /// <summary>Adds a block that does not run as a handler, such as a check.</summary>
    /// <exception cref="RpcException">InvalidArgument: like <see cref="Add"/>; also for a closure with
    /// variables.</exception>
    public ScriptSource AddPlain(ScriptBlock block, string what)
    {
        RequireNoClosure(block, what);
        return Add(block);
    }

    private void RequireNoClosure(ScriptBlock block, string what)
    {
        IReadOnlyList<PSVariable> kept = ClosureVariables.Get(block, _caller.SessionState);
        if (kept.Count > 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.ClosureNotSupported,
                $"{what} was made by GetNewClosure() and uses its variables "
                + $"({string.Join(", ", kept.Select(variable => $"${variable.Name}"))}), which only "
                + "handlers and filters can do. Remove GetNewClosure(), and write $using: before "
                + "their names.");
        }
    }

    private static ScriptBlock? BlockOf(object? value) =>
        (value is PSObject wrapped ? wrapped.BaseObject : value) as ScriptBlock;

    private void TakeOver(
        Ast ast, IReadOnlyDictionary<string, object?>? kept = null, SessionState? session = null)
    {
        Unset.Add(ast, session ?? _caller.SessionState, name => kept?.ContainsKey(name) == true);
        foreach (string name in ScriptSource.UsingVariables(ast)
            .Where(name => kept?.ContainsKey(name) != true))
        {
            PSVariable variable = _caller.SessionState.PSVariable.Get(name) ?? throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.UsingVariableNotFound,
                $"The handler uses '$using:{name}', but this session has no variable ${name}.");
            SetVariable(ScriptSource.UsingName(name), ForOtherRunspaces(name, variable.Value));
        }

        TakeOverForInnerBlocks(ast, kept);
        foreach (CommandAst command in ast.FindAll(node => node is CommandAst, true).Cast<CommandAst>())
        {
            if (command.GetCommandName() is { } name && _seenCommands.Add(name))
            {
                TakeOverCommand(name);
            }
        }
    }

    // $using: in ForEach-Object -Parallel of a handler reads a variable of the handler, or otherwise one of
    // the caller, which gets the same name in the worker.
    private void TakeOverForInnerBlocks(Ast ast, IReadOnlyDictionary<string, object?>? kept)
    {
        foreach (string name in ScriptSource.InnerUsingVariables(ast))
        {
            if (kept?.ContainsKey(name) != true && !ClosureVariables.IsOfTheWorker(name)
                && _caller.SessionState.PSVariable.Get(name) is { Options: ScopedItemOptions.None } variable)
            {
                SetVariable(name, ForOtherRunspaces(name, variable.Value));
            }
        }
    }

    // PowerShell sends a block to the runspace that made it. That runspace is busy, so the block is made
    // again without one.
    private object? ForOtherRunspaces(string name, object? value)
    {
        if (BlockOf(value) is not { } block)
        {
            return value;
        }

        RequireNoClosure(block, $"The script block $using:{name}");
        TakeOver(block.Ast);
        return ScriptSource.OfBlock(block).Parse();
    }

    private void TakeOverCommand(string name)
    {
        const CommandTypes Types =
            CommandTypes.Alias | CommandTypes.Function | CommandTypes.Filter | CommandTypes.Cmdlet;
        // Only commands that are loaded: workers load the others on demand.
        CommandInfo? command = _caller.InvokeCommand
            .GetCommands(name, Types, nameIsPattern: false)
            .FirstOrDefault();
        switch (command)
        {
            case AliasInfo alias when !IsBuiltIn(alias):
                State.Commands.Add(new SessionStateAliasEntry(alias.Name, alias.Definition));
                TakeOverDefinition(alias.Definition);
                break;
            case AliasInfo alias:
                TakeOverDefinition(alias.Definition);
                break;
            case FunctionInfo function when !IsBuiltIn(function):
                TakeOverFunction(function);
                break;
            case CmdletInfo cmdlet
                when cmdlet.ImplementingType.Assembly == typeof(HandlerEnvironment).Assembly:
                AddModule(OwnManifest);
                break;
            case CmdletInfo { Module: { } module } when !BuiltInModules.Contains(module.Name):
                AddModule(module);
                break;
        }
    }

    private static string OwnManifest =>
        Path.GetFullPath(Path.Combine(ProtocLocator.AssemblyFolder, "..", "ProtoRpc.psd1"));

    private void TakeOverDefinition(string name)
    {
        if (_seenCommands.Add(name))
        {
            TakeOverCommand(name);
        }
    }

    private void AddModule(PSModuleInfo module)
    {
        if (File.Exists(module.Path))
        {
            AddModule(module.Path);
        }
        else if (!_modules.Contains(module))
        {
            _modules.Add(module);
        }
    }

    private void TakeOverFunction(FunctionInfo function)
    {
        if (function.Module is { Path: { Length: > 0 } path } module
            && module.ExportedFunctions.ContainsKey(function.Name) && File.Exists(path))
        {
            AddModule(path);
            return;
        }

        TakeOver(function.ScriptBlock.Ast, session: function.Module?.SessionState);
        _functions.Add(function.ScriptBlock.Ast is FunctionDefinitionAst definition
            ? new("", ScriptSource.OfDefinition(definition))
            : new(function.Name, ScriptSource.OfBlock(function.ScriptBlock)));
    }

    private bool IsBuiltIn(CommandInfo command) => State.Commands[command.Name].Any(entry => entry switch
    {
        SessionStateFunctionEntry function => function.Definition == command.Definition,
        SessionStateAliasEntry alias => alias.Definition == command.Definition,
        _ => false,
    });
}

/// <summary>Finds the variables that <c>GetNewClosure()</c> stored in a script block's module and that the
/// block uses.</summary>
internal static class ClosureVariables
{
    private const string DynamicModulePrefix = "__DynamicModule_";

    // Variables that the worker sets, and automatic variables. GetNewClosure() copies them from the place
    // where it was called, and these copies must not replace the worker's values.
    private static readonly HashSet<string> OfTheWorker = new(StringComparer.OrdinalIgnoreCase)
    {
        "Request", "RpcContext", "RpcMethod", "Bytes", "Next",
        "_", "PSItem", "args", "input", "this", "null", "true", "false", "Error", "Matches", "StackTrace",
        "foreach", "switch", "LASTEXITCODE", "?", "^", "$", "Event", "EventArgs", "EventSubscriber", "Sender",
        "MyInvocation", "PSBoundParameters", "PSCmdlet", "PSScriptRoot", "PSCommandPath", "ExecutionContext",
    };

    /// <summary>Whether the worker or the shell sets a variable.</summary>
    public static bool IsOfTheWorker(string name) => OfTheWorker.Contains(name)
        || name.Contains(':') || name.EndsWith("Preference", StringComparison.OrdinalIgnoreCase);

    /// <summary>The stored variables that a block uses; empty if the block is not a closure.</summary>
    /// <param name="block">The block.</param>
    /// <param name="caller">The session of the block.</param>
    /// <exception cref="RpcException">InvalidArgument: the block calls a function of its dynamic
    /// module.</exception>
    public static IReadOnlyList<PSVariable> Get(ScriptBlock block, SessionState caller)
    {
        if (block.Module is not { SessionState: { } kept } module
            || !module.Name.StartsWith(DynamicModulePrefix, StringComparison.Ordinal))
        {
            return [];
        }

        if (!string.IsNullOrEmpty(module.Definition))
        {
            RequireNoFunctions(block.Ast, module);
        }

        return [.. Names(block.Ast)
            .Select(kept.PSVariable.Get)
            .OfType<PSVariable>()
            .Where(variable => !ReferenceEquals(variable, caller.PSVariable.Get($"global:{variable.Name}")))];
    }

    private static IEnumerable<string> Names(Ast ast) => ast
        .FindAll(node => node is VariableExpressionAst, searchNestedScriptBlocks: true)
        .Select(node => ((VariableExpressionAst)node).VariablePath)
        .Where(path => path.IsUnqualified || path.IsScript || path.IsLocal)
        .Select(path => path.UserPath[(path.UserPath.IndexOf(':') + 1)..])
        .Where(name => !OfTheWorker.Contains(name))
        .Distinct(StringComparer.OrdinalIgnoreCase);

    // The functions of New-Module { ... } have their own variables and call other functions, so they cannot
    // be copied.
    private static void RequireNoFunctions(Ast ast, PSModuleInfo module)
    {
        ScriptBlock find = module.NewBoundScriptBlock(ScriptBlock.Create(
            "$PSModuleAutoLoadingPreference = 'None'; "
            + "Microsoft.PowerShell.Core\\Get-Command -Name $args[0] -CommandType Function, Filter "
            + "-ErrorAction Ignore"));
        foreach (CommandAst command in ast.FindAll(node => node is CommandAst, true).Cast<CommandAst>())
        {
            if (command.GetCommandName() is { } name
                && find.Invoke(WildcardPattern.Escape(name))
                    .Any(found => found.BaseObject is CommandInfo info && info.ModuleName == module.Name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.ClosureFunctionNotSupported,
                    $"The handler calls '{name}', a function of the dynamic module in which the handler "
                    + "was made. The listener's workers cannot load this module. Put the function into a "
                    + "module file, and set Module of -ListenerOption to its path.");
            }
        }
    }
}
