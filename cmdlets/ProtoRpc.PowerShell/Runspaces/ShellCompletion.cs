using System.Collections;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Runspaces;

/// <summary>The changes of Enable-RpcCompletion in a runspace.</summary>
internal sealed class ShellCompletion
{
    /// <summary>Whether completion of hashtables is on.</summary>
    public bool IsEnabled { get; set; }

    /// <summary>The body of our TabExpansion2, which completes hashtables; null if it is not
    /// installed.</summary>
    public ScriptBlock? Own { get; set; }

    /// <summary>The body of the previous TabExpansion2.</summary>
    public ScriptBlock? Previous { get; set; }

    /// <summary>Whether the previous function is the shell's own.</summary>
    public bool IsPreviousOfShell { get; set; }

    /// <summary>The predictor of the runspace; null for none.</summary>
    public IDisposable? Predictor { get; set; }

    /// <summary>Receives the completer of a parameter and the other arguments, while the shell resolves which
    /// parameter a place belongs to; otherwise null.</summary>
    public Action<object, IDictionary>? Asked { get; set; }

    /// <summary>Removes the predictor.</summary>
    public void EndPrediction()
    {
        Predictor?.Dispose();
        Predictor = null;
    }
}
