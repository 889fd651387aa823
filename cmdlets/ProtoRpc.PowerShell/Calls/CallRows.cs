using System.Diagnostics;
using System.Management.Automation;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell.Calls;

/// <summary>Makes one row of each of many calls, successful or failed.</summary>
/// <param name="convert">Converts a reply to an object of the shell. Its second argument writes
/// warnings.</param>
internal sealed class CallRows(Func<FanOutResult, Action<string>, PSObject?> convert)
{
    /// <summary>The counts of all rows.</summary>
    public RpcCallSummary Summary { get; } = new();

    /// <summary>A copy of the call that returns one <see cref="RpcCallResult"/> instead of its
    /// replies.</summary>
    public FanOutCall RowOf(FanOutCall call) => call with { Replies = end => RunAsync(call, end) };

    private async IAsyncEnumerable<object> RunAsync(
        FanOutCall call, [EnumeratorCancellation] CancellationToken cancellation)
    {
        RpcCallResult row = new(call.Place.Name, call.Place.Endpoint) { Summary = Summary };
        List<object?> replies = [];
        long start = Stopwatch.GetTimestamp();
        try
        {
            await foreach (object reply in call.Replies(cancellation).ConfigureAwait(false))
            {
                replies.Add(convert(
                    new FanOutResult(call.Place, reply, Error: null), row.Warnings.Add));
            }
        }
        catch (Exception e) when (!cancellation.IsCancellationRequested)
        {
            row.Error = FanOut.ErrorOf(e, call.Place);
        }

        cancellation.ThrowIfCancellationRequested();
        row.Milliseconds = Math.Round(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 1);
        row.Reply = replies.Count switch
        {
            0 => null,
            1 => replies[0],
            _ => replies.ToArray(),
        };
        Summary.Add(row.Status);
        yield return row;
    }
}
