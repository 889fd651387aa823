using System.Management.Automation;
using System.Management.Automation.Language;
using System.Management.Automation.Runspaces;

namespace ProtoRpc.PowerShell;

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

    public void SetInitialization(ScriptBlock block) => Initialization = Add(block);

    /// <summary>Takes a block over, with what it uses of the caller's session.</summary>
    /// <exception cref="RpcException">InvalidArgument: <c>$using:</c>
    /// of a variable that does not exist.</exception>
    public ScriptSource Add(ScriptBlock block)
    {
        TakeOver(block.Ast);
        return ScriptSource.OfBlock(block);
    }

    private void TakeOver(Ast ast)
    {
        foreach (string name in ScriptSource.UsingVariables(ast))
        {
            PSVariable variable = _caller.SessionState.PSVariable.Get(name) ?? throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The handler uses '$using:{name}', but there is no variable ${name} here.")
            {
                ErrorId = "UsingVariableNotFound",
            };
            SetVariable(ScriptSource.UsingName(name), ForOtherRunspaces(variable.Value));
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
    private object? ForOtherRunspaces(object? value)
    {
        if ((value is PSObject wrapped ? wrapped.BaseObject : value) is not ScriptBlock block)
        {
            return value;
        }

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

    private static string OwnManifest => Path.GetFullPath(Path.Combine(
        Path.GetDirectoryName(typeof(HandlerEnvironment).Assembly.Location)!, "..", "ProtoRpc.psd1"));

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
