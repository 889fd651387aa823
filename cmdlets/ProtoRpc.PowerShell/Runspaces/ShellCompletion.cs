using System.Collections;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>What Enable-RpcCompletion changed in a runspace.</summary>
internal sealed class ShellCompletion
{
    /// <summary>Whether hashtables are completed.</summary>
    public bool IsEnabled { get; set; }

    /// <summary>The body of the function TabExpansion2 that completes hashtables; null where none was
    /// made, or where it was taken away again.</summary>
    public ScriptBlock? Own { get; set; }

    /// <summary>The body of the function that was there before.</summary>
    public ScriptBlock? Previous { get; set; }

    /// <summary>Whether that one is the shell's own.</summary>
    public bool IsPreviousOfShell { get; set; }

    /// <summary>The predictor of the runspace; null for none.</summary>
    public IDisposable? Predictor { get; set; }

    /// <summary>Gets the completer of a parameter and the arguments beside it, while the shell is asked whose
    /// value stands at a place; null else.</summary>
    public Action<object, IDictionary>? Asked { get; set; }

    /// <summary>Takes the predictor away.</summary>
    public void EndPrediction()
    {
        Predictor?.Dispose();
        Predictor = null;
    }
}
