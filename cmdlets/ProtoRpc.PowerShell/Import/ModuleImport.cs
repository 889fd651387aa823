using ProtoRpc.PowerShell.Prediction;
using ProtoRpc.PowerShell.Rendering;
using ProtoRpc.PowerShell.ServiceCommands;

namespace ProtoRpc.PowerShell.Import;

/// <summary>Sets up the module in the runspace that imports it.</summary>
internal static class ModuleImport
{
    /// <summary>Exports the cmdlets if the shell does not, adds the type data of messages, and a cleanup for
    /// when the module is removed.</summary>
    /// <param name="shell">The module's <c>$ExecutionContext</c>.</param>
    /// <param name="loaded">The module of this assembly if an earlier import loaded it; otherwise
    /// null.</param>
    /// <param name="removed">Runs when the module is removed.</param>
    public static void Begin(EngineIntrinsics shell, PSModuleInfo? loaded, ScriptBlock removed)
    {
        if (loaded is not null)
        {
            PublishedCommands.Export(shell.SessionState.Module, loaded);
        }

        ViewState.Current.Shell = shell;
        MessageTypeData.Add(shell);
        shell.SessionState.Module.OnRemove = removed;
        CompletionWarmUp.BeginAtPrompt();
    }
}
