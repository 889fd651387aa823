using System.Collections;
using System.Management.Automation;
using System.Management.Automation.Language;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>What the function TabExpansion2 of Enable-RpcCompletion calls.</summary>
public static class RpcCompletion
{
    /// <summary>The body of the function that was there before; empty where there was none.</summary>
    public static ScriptBlock Previous =>
        RunspaceStore.Current.Completion.Previous ?? ScriptBlock.Create("");

    /// <summary>Completes the arguments of TabExpansion2.</summary>
    /// <param name="bound">The parameters of the function.</param>
    /// <returns>What is offered; null where the function that was there before has to say it.</returns>
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
            // Called from here, PowerShell hides the variables of the function, which it finds by name.
            ?? (state.IsPreviousOfShell ? CommandCompletion.CompleteInput(script, cursor, options) : null);
    }

    // A failure here must not keep the shell from completing what it can.
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
