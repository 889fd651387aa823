using System.Collections.ObjectModel;
using System.Management.Automation;
using ProtoRpc.Load;

namespace ProtoRpc.PowerShell.Endpoint;

/// <summary>Makes the requests of a load test with a script block, one for each call, on the pipeline
/// thread.</summary>
/// <param name="script">Gets the number of the call, from 1, as <c>$_</c> and as its argument.</param>
/// <param name="method">The method to call.</param>
/// <param name="toMessage">Converts the block's output to a message.</param>
internal sealed class ScriptRequests(
    ScriptBlock script, RpcMethodInfo method, Func<object?, DynamicMessage> toMessage)
{
    // The progress bar and Ctrl+C are handled between batches.
    private const int Batch = 100;

    private long _number;

    /// <summary>The queue that the load test reads.</summary>
    public QueuedRequests Requests { get; } = new();

    /// <summary>Makes some requests if the queue has too few.</summary>
    /// <returns>Whether the queue has enough now.</returns>
    /// <exception cref="RpcException">InvalidArgument: the block's output is not a request.</exception>
    /// <exception cref="RuntimeException">The block failed.</exception>
    public bool Fill()
    {
        for (int i = 0; i < Batch && Requests.WantsMore; i++)
        {
            Requests.Add(method, Make(++_number));
        }

        return !Requests.WantsMore;
    }

    private DynamicMessage[] Make(long number)
    {
        Collection<PSObject?> written = script.InvokeWithContext(
            functionsToDefine: null, [new PSVariable("_", number)], number)!;
        return written.Count == 0 && !method.IsClientStreaming
            ? [toMessage(null)]
            : [.. written.Select(toMessage)];
    }
}
