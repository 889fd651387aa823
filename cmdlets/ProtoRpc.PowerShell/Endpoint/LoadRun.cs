using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Endpoint;

/// <summary>Waits for a load test on the pipeline thread. Meanwhile it shows the progress and runs script
/// blocks.</summary>
internal sealed class LoadRun(RpcLoadTest test, WaitProgress progress, CancellationToken cancellation)
{
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan ScriptPeriod = TimeSpan.FromMilliseconds(2);

    /// <summary>Runs the test to its end.</summary>
    /// <param name="scripts">The scripts that make requests during the test.</param>
    public IReadOnlyList<RpcLoadResult> Wait(IReadOnlyList<ScriptRequests> scripts)
    {
        // The first requests are ready before the first call needs one.
        FillAll(scripts);
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        Task<IReadOnlyList<RpcLoadResult>> running = Task.Run(() => test.RunAsync(end.Token));
        try
        {
            while (!running.IsCompleted)
            {
                bool isFull = FillAll(scripts);
                Report();
                if (isFull)
                {
                    Task.WaitAny([running], scripts.Count > 0 ? ScriptPeriod : Period);
                }
            }
        }
        catch
        {
            // A script block failed or was stopped.
            end.Cancel();
            Task.WaitAny([running]);
            throw;
        }

        return running.GetAwaiter().GetResult();
    }

    private static bool FillAll(IReadOnlyList<ScriptRequests> scripts)
    {
        bool areFull = true;
        foreach (ScriptRequests script in scripts)
        {
            areFull &= script.Fill();
        }

        return areFull;
    }

    private void Report()
    {
        RpcLoadProgress now = test.Progress;
        progress.Report(
            () =>
            {
                string what = now.IsWarmUp ? "warm-up" : $"{now.Calls:N0} calls, {now.Failed:N0} failed";
                return TerminalText.Neutralize($"{now.Target}: {what}");
            },
            (int)(now.Share * 100),
            total: 100);
    }
}
