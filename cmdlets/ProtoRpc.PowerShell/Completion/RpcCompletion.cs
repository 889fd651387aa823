using System.Collections;
using System.Management.Automation;
using System.Management.Automation.Language;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>Called by the function TabExpansion2 of Enable-RpcCompletion.</summary>
public static class RpcCompletion
{
    /// <summary>The body of the previous TabExpansion2; empty if there was none.</summary>
    public static ScriptBlock Previous =>
        RunspaceStore.Current.Completion.Previous ?? ScriptBlock.Create("");

    /// <summary>Completes the arguments of TabExpansion2.</summary>
    /// <param name="bound">The parameters of the function.</param>
    /// <returns>The completion; null if the previous function should complete.</returns>
    public static CommandCompletion? Complete(IDictionary bound)
    {
        ArgumentNullException.ThrowIfNull(bound);
        ShellCompletion state = RunspaceStore.Current.Completion;
        Hashtable? options = bound["options"] as Hashtable;
        if (bound["ast"] is Ast ast && bound["positionOfCursor"] is IScriptPosition position)
        {
            return Find(state, ast.Extent.Text, ast.Extent.StartOffset, position.Offset, options)
                ?? (state.IsPreviousOfShell
                    ? CommandCompletion.CompleteInput(ast, (Token[])bound["tokens"]!, position, options)
                    : null);
        }

        string script = bound["inputScript"] as string ?? "";
        int cursor = bound["cursorColumn"] as int? ?? script.Length;
        return Find(state, script, 0, cursor, options)
            // Completing here keeps variables of the function out of the results: PowerShell finds these by
            // name.
            ?? (state.IsPreviousOfShell ? CommandCompletion.CompleteInput(script, cursor, options) : null);
    }

    // A failure here must not prevent the shell's own completion.
    private static CommandCompletion? Find(
        ShellCompletion state, string script, int start, int cursor, Hashtable? options)
    {
        if (!state.IsEnabled)
        {
            return null;
        }

        try
        {
            return TableCompletion.Find(script, cursor - start, options) is not { } found ? null
                : start == 0 ? found
                : new CommandCompletion(
                    found.CompletionMatches, -1, found.ReplacementIndex + start, found.ReplacementLength);
        }
        catch (Exception e) when (e is RpcException or RuntimeException or InvalidOperationException
            or ArgumentException)
        {
            return null;
        }
    }
}
