using System.Management.Automation.Runspaces;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Prediction;

namespace ProtoRpc;

/// <summary>Replaces the function TabExpansion2, which editors and PSReadLine call for each Tab, and restores
/// the previous one. Also registers and removes a predictor.</summary>
/// <remarks>PowerShell 7.6 completes the keys of a hashtable from the properties of the parameter's type. It
/// calls no argument completer for them (CompletionCompleters.CompleteHashtableKey), so replacing the
/// function is the only way.</remarks>
internal sealed class TabExpansion(PSCmdlet cmdlet, ShellCompletion state)
{
    private const string Name = "TabExpansion2";

    // The body has only the parameters of the shell's function and no variables, because users could complete
    // these. It works without the module's accelerators, because another function may capture this one.
    private const string Body = """
        [CmdletBinding(DefaultParameterSetName = 'ScriptInputSet')]
        [OutputType([System.Management.Automation.CommandCompletion])]
        param(
            [Parameter(ParameterSetName = 'ScriptInputSet', Mandatory = $true, Position = 0)]
            [AllowEmptyString()]
            [string] $inputScript,

            [Parameter(ParameterSetName = 'ScriptInputSet', Position = 1)]
            [int] $cursorColumn = $inputScript.Length,

            [Parameter(ParameterSetName = 'AstInputSet', Mandatory = $true, Position = 0)]
            [System.Management.Automation.Language.Ast] $ast,

            [Parameter(ParameterSetName = 'AstInputSet', Mandatory = $true, Position = 1)]
            [System.Management.Automation.Language.Token[]] $tokens,

            [Parameter(ParameterSetName = 'AstInputSet', Mandatory = $true, Position = 2)]
            [System.Management.Automation.Language.IScriptPosition] $positionOfCursor,

            [Parameter(ParameterSetName = 'ScriptInputSet', Position = 2)]
            [Parameter(ParameterSetName = 'AstInputSet', Position = 3)]
            [Hashtable] $options = $null
        )
        end {
            [ProtoRpc.ModuleLoadContext]::LoadCmdlets().GetType(
                'ProtoRpc.RpcCompletion')::Complete($PSBoundParameters) ??
                (& ([ProtoRpc.ModuleLoadContext]::LoadCmdlets().GetType(
                    'ProtoRpc.RpcCompletion')::Previous) @PSBoundParameters)
        }
        """;

    /// <summary>Turns completion of hashtables on.</summary>
    public void Enable()
    {
        state.IsEnabled = true;
        RunspaceStore store = RunspaceStore.Current;
        state.Predictor ??= CommandPredictor.Register(input => LinePrediction.Predict(input, store));
        ScriptBlock? current = Current;
        // If another function calls ProtoRpc's, it is not wrapped again. PowerShell's own function does not
        // call it, so a script has restored that function.
        if (state.Own is null || current is null || IsOfShell(current))
        {
            state.Previous = current;
            state.IsPreviousOfShell = current is null || IsOfShell(current);
            Set(ScriptBlock.Create(Body));
            state.Own = Current;
        }
    }

    /// <summary>Turns completion of hashtables off. If another function wraps the module's TabExpansion2,
    /// both stay, and the module's function only calls the previous one.</summary>
    public void Disable()
    {
        state.IsEnabled = false;
        state.EndPrediction();
        if (state.Own is not { } own || !ReferenceEquals(Current, own))
        {
            return;
        }

        if (state.Previous is { } previous)
        {
            Set(previous);
        }
        else
        {
            cmdlet.InvokeProvider.Item.Remove($"function:{Name}", recurse: false);
        }

        state.Own = state.Previous = null;
    }

    private ScriptBlock? Current =>
        (cmdlet.InvokeCommand.GetCommand(Name, CommandTypes.Function) as FunctionInfo)?.ScriptBlock;

    private void Set(ScriptBlock body) => cmdlet.InvokeProvider.Item.Set($"function:global:{Name}", body);

    private static bool IsOfShell(ScriptBlock body) => InitialSessionState.CreateDefault2().Commands[Name]
        .OfType<SessionStateFunctionEntry>()
        .Any(entry => entry.Definition.Trim() == body.ToString().Trim());
}

[Cmdlet(VerbsLifecycle.Enable, "RpcCompletion", SupportsShouldProcess = true)]
public sealed class EnableRpcCompletionCommand : RpcCmdlet
{
    protected override void Process()
    {
        if (ShouldProcess("TabExpansion2", "Complete hashtables of messages"))
        {
            new TabExpansion(this, RunspaceStore.Current.Completion).Enable();
            CompletionWarmUp.Begin();
        }
    }
}

[Cmdlet(VerbsLifecycle.Disable, "RpcCompletion", SupportsShouldProcess = true)]
public sealed class DisableRpcCompletionCommand : RpcCmdlet
{
    protected override void Process()
    {
        if (ShouldProcess("TabExpansion2", "Restore the previous function"))
        {
            new TabExpansion(this, RunspaceStore.Current.Completion).Disable();
        }
    }
}
