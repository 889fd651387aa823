using System.Collections;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers the modules of the session. For a path, the shell offers files.</summary>
internal sealed class ModuleCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        return
        [
            .. shell.AddCommand(@"Microsoft.PowerShell.Core\Get-Module").Invoke<PSModuleInfo>()
                .Select(module => new Candidate(module.Name, $"{module.Name} {module.Version}")),
        ];
    }
}
