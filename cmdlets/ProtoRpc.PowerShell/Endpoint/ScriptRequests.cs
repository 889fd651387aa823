using System.Collections.ObjectModel;
using System.Management.Automation;
using ProtoRpc.Load;

namespace ProtoRpc.PowerShell.Endpoint;

/// <summary>Requests that a script block makes, one for each call, on the thread of the pipeline.</summary>
/// <param name="script">Gets the number of the call, from 1 on, as <c>$_</c> and as its argument.</param>
/// <param name="method">The method that is called.</param>
/// <param name="toMessage">Makes a message of what the block wrote.</param>
internal sealed class ScriptRequests(
    ScriptBlock script, RpcMethodInfo method, Func<object?, DynamicMessage> toMessage)
{
    // So that the progress bar and Ctrl+C are looked after between.
    private const int Batch = 100;

    private long _number;

    /// <summary>What the load test takes.</summary>
    public QueuedRequests Requests { get; } = new();

    /// <summary>Makes some requests, unless there are enough.</summary>
    /// <returns>Whether there are enough now.</returns>
    /// <exception cref="RpcException">InvalidArgument: what the block wrote is no request.</exception>
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
