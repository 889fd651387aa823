using System.Collections;
using System.Collections.ObjectModel;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Service;

/// <summary>The modules and commands of the session.</summary>
/// <param name="cmdlet">Runs in the session.</param>
internal sealed class SessionModules(PSCmdlet cmdlet)
{
    // Beyond so many names one list of all commands takes less time than a search for each.
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

    // A function or alias of the session would be called before a cmdlet, so its name becomes an alias of the
    // cmdlet, which is called first. Not one of the module: its name would be found in the module again.
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

    // An alias that was there comes back, unless somebody made another one since.
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

    /// <summary>Makes sure that no other module with commands of services has a name. The shell would keep
    /// the other's commands in silence.</summary>
    /// <param name="name">The name.</param>
    /// <param name="loading">The module that gets the name, or is replaced; null for none.</param>
    /// <exception cref="RpcException">FailedPrecondition: there is one.</exception>
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
    /// <param name="except">A module whose commands do not count; null for none.</param>
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

    // An alias that a module hides another command by stands for what it hides.
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
    /// <param name="service">What the commands call.</param>
    /// <param name="except">The names of commands that are left out.</param>
    /// <param name="others">Commands with names of the module that it takes the place of.</param>
    /// <exception cref="RpcException">FailedPrecondition: the session does not take it.</exception>
    public PSModuleInfo Import(
        RpcServiceModule service, HashSet<string> except, IEnumerable<CommandInfo> others)
    {
        string name = service.Plan.ModuleName;

        // Aliases that a module makes, also global ones, end with it: these are made outside.
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
