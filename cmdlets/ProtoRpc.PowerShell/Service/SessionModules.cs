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

    // The functions are made from text without a scope, so they belong to no runspace and other runspaces
    // can also import the module.
    private const string Script =
        """
        param($service, $functions)
        foreach ($function in $functions) {
            $path = "function:$($function.Key)"
            $ExecutionContext.SessionState.InvokeProvider.Item.Set($path, $function.Value)
        }
        $ExecutionContext.SessionState.Module.OnRemove = { $service.Dispose() }
        $ExecutionContext.SessionState.Module.PrivateData = $service
        Microsoft.PowerShell.Core\Export-ModuleMember -Function *
        """;

    /// <summary>The module of an earlier import with the same name; or null.</summary>
    public PSModuleInfo? FindImported(string name) => Run("Get-Module", new() { ["Name"] = name })
        .Select(item => (PSModuleInfo)item.BaseObject)
        .FirstOrDefault(module => module.PrivateData is RpcServiceModule
            or PSObject { BaseObject: RpcServiceModule });

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
                .Where(command => except is null || command.Module != except),
        ];
    }

    /// <summary>Removes a module; null for none.</summary>
    public void Remove(PSModuleInfo? module)
    {
        if (module is not null)
        {
            Run("Remove-Module", new() { ["ModuleInfo"] = module, ["Force"] = true });
        }
    }

    /// <summary>Makes a module of functions, and imports it into the session.</summary>
    public PSModuleInfo Import(
        string name, IEnumerable<KeyValuePair<string, string>> functions, RpcServiceModule service)
    {
        List<KeyValuePair<string, ScriptBlock>> blocks =
            [.. functions.Select(function => KeyValuePair.Create(
                function.Key, ScriptBlock.Create(function.Value)))];
        PSModuleInfo module = (PSModuleInfo)Run("New-Module", new()
        {
            ["Name"] = name,
            ["ScriptBlock"] = ScriptBlock.Create(Script),
            ["ArgumentList"] = new object[] { service, blocks },
        })[0].BaseObject;
        Run("Import-Module", new()
        {
            ["ModuleInfo"] = module,
            ["Global"] = true,
            ["DisableNameChecking"] = true,
        });
        return module;
    }

    private Collection<PSObject> Run(string command, Dictionary<string, object> parameters)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        return shell.AddCommand($@"Microsoft.PowerShell.Core\{command}")
            .AddParameters(parameters).Invoke();
    }
}
