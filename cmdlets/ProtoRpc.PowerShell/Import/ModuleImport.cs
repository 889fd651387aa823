using System.Management.Automation;
using ProtoRpc.PowerShell.Completing;
using ProtoRpc.PowerShell.Views;

namespace ProtoRpc.PowerShell.Import;

/// <summary>What an import of the module does in its runspace.</summary>
internal static class ModuleImport
{
    /// <summary>Lets the shell show messages, and clean up when the module is removed.</summary>
    /// <param name="shell">The module's.</param>
    /// <param name="removed">Runs when it is removed.</param>
    public static void Begin(EngineIntrinsics shell, ScriptBlock removed)
    {
        ViewState.Current.Shell = shell;
        MessageTypeData.Add(shell);
        shell.SessionState.Module.OnRemove = removed;
        CompletionWarmUp.BeginAtPrompt();
    }
}
