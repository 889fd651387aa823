using System.Management.Automation;
using System.Management.Automation.Language;
using System.Management.Automation.Runspaces;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>What every worker of a listener starts with: modules, functions, aliases and variables
/// of the caller that the handlers use, preferences, and the place in the file system.</summary>
/// <remarks>Made on the caller's thread, from the caller's session; read by the workers.</remarks>
internal sealed class HandlerEnvironment
{
    // These load by themselves in every runspace.
    private static readonly HashSet<string> BuiltInModules = new(StringComparer.OrdinalIgnoreCase)
    {
        "Microsoft.PowerShell.Core", "Microsoft.PowerShell.Utility", "Microsoft.PowerShell.Management",
        "Microsoft.PowerShell.Security", "Microsoft.PowerShell.Host",
    };

    private readonly PSCmdlet _caller;
    private readonly HashSet<string> _seenCommands = new(StringComparer.OrdinalIgnoreCase);
    private readonly List<KeyValuePair<string, ScriptSource>> _functions = [];
    private readonly Dictionary<ScriptBlock, ScriptSource> _added = new(ReferenceEqualityComparer.Instance);

    public HandlerEnvironment(PSCmdlet caller)
    {
        _caller = caller;
        State = InitialSessionState.CreateDefault();
        State.LanguageMode = caller.SessionState.LanguageMode;
        State.ThrowOnRunspaceOpenError = true;
        Location = caller.SessionState.Path.CurrentFileSystemLocation.Path;
        SetVariable("ProgressPreference", ActionPreference.SilentlyContinue);
    }

    /// <summary>How a worker's runspace begins.</summary>
    public InitialSessionState State { get; }

    /// <summary>The caller's folder, where relative paths of handlers lead.</summary>
    public string Location { get; }

    /// <summary>Functions by name; a name that is empty stands in its own definition.</summary>
    public IReadOnlyList<KeyValuePair<string, ScriptSource>> Functions => _functions;

    /// <summary>Run once in each worker before its first call.</summary>
    public ScriptSource? Initialization { get; private set; }

    /// <summary>A variable of the workers.</summary>
    public void SetVariable(string name, object? value) =>
        State.Variables.Add(new SessionStateVariableEntry(name, value, description: null));

    /// <summary>Imports a module into each worker.</summary>
    public void AddModule(string nameOrPath) => State.ImportPSModule([nameOrPath]);

    public void SetInitialization(ScriptBlock block) =>
        Initialization = AddPlain(block, "-InitializationScript");

    /// <summary>Takes a block over, with what it uses of the caller's session, and with the variables that
    /// <c>GetNewClosure()</c> kept for it.</summary>
    /// <exception cref="RpcException">InvalidArgument: <c>$using:</c>
    /// of a variable that does not exist, or something that workers cannot have.</exception>
    public ScriptSource Add(ScriptBlock block)
    {
        if (!_added.TryGetValue(block, out ScriptSource? source))
        {
            // A closure may have kept itself.
            Dictionary<string, object?> variables = new(StringComparer.OrdinalIgnoreCase);
            _added.Add(block, source = ScriptSource.OfBlock(block, variables));
            foreach (PSVariable kept in ClosureVariables.Of(block, _caller.SessionState))
            {
                object? value = BlockOf(kept.Value) is { } inner ? Add(inner) : kept.Value;
                variables[kept.Name] = value;
                variables[ScriptSource.UsingName(kept.Name)] = value;
            }

            TakeOver(block.Ast, variables);
        }

        return source;
    }

    /// <summary>The same for a block that does not run as handlers do.</summary>
    /// <exception cref="RpcException">InvalidArgument: also a closure with variables.</exception>
    public ScriptSource AddPlain(ScriptBlock block, string what)
    {
        RequireNoClosure(block, what);
        return Add(block);
    }

    private void RequireNoClosure(ScriptBlock block, string what)
    {
        IReadOnlyList<PSVariable> kept = ClosureVariables.Of(block, _caller.SessionState);
        if (kept.Count > 0)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"{what} was made by GetNewClosure() and uses its variables "
                + $"({string.Join(", ", kept.Select(variable => $"${variable.Name}"))}), which only "
                + "handlers and filters can do. Remove GetNewClosure(), and write $using: before "
                + "their names.")
            {
                ErrorId = RpcErrorIds.ClosureNotSupported,
            };
        }
    }

    private static ScriptBlock? BlockOf(object? value) =>
        (value is PSObject wrapped ? wrapped.BaseObject : value) as ScriptBlock;

    private void TakeOver(Ast ast, IReadOnlyDictionary<string, object?>? kept = null)
    {
        foreach (string name in ScriptSource.UsingVariables(ast)
            .Where(name => kept?.ContainsKey(name) != true))
        {
            PSVariable variable = _caller.SessionState.PSVariable.Get(name) ?? throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The handler uses '$using:{name}', but there is no variable ${name} here.")
            {
                ErrorId = RpcErrorIds.UsingVariableNotFound,
            };
            SetVariable(ScriptSource.UsingName(name), ForOtherRunspaces(name, variable.Value));
        }

        foreach (CommandAst command in ast.FindAll(node => node is CommandAst, true).Cast<CommandAst>())
        {
            if (command.GetCommandName() is { } name && _seenCommands.Add(name))
            {
                TakeOverCommand(name);
            }
        }
    }

    // A block that ran in another runspace would be sent back to its own, which is busy.
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
        // Only what is loaded already: the rest loads by itself in the worker.
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
                AddModule(module.Path);
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

    private void TakeOverFunction(FunctionInfo function)
    {
        if (function.Module is { Path: { Length: > 0 } path } module
            && module.ExportedFunctions.ContainsKey(function.Name) && File.Exists(path))
        {
            AddModule(path);
            return;
        }

        TakeOver(function.ScriptBlock.Ast);
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
