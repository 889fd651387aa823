using System.Diagnostics;
using System.Management.Automation;
using ProtoRpc.PowerShell.Listener;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Wait, "RpcListener", DefaultParameterSetName = ByListener)]
[OutputType(typeof(RpcListener))]
public sealed class WaitRpcListenerCommand : RpcStreamsCommand
{
    private readonly List<RpcListener> _waiting = [];

    [Parameter]
    [Deadline]
    public TimeSpan Timeout { get; set; } = System.Threading.Timeout.InfiniteTimeSpan;

    [Parameter]
    public SwitchParameter ExitOnTermination { get; set; }

    protected override void Process() => _waiting.AddRange(ResolveListeners());

    // Shows what the handlers write as it comes, until the listeners have stopped.
    protected override void End()
    {
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(Cancellation);
        if (!ExitOnTermination)
        {
            Termination.Add(end);
        }

        try
        {
            StreamPreferences.NeverStop(this, given: true);
            Wait(end.Token);
        }
        finally
        {
            Termination.Remove(end);
        }
    }

    private void Wait(CancellationToken end)
    {
        Stopwatch watch = Stopwatch.StartNew();
        using HandlerStreamsSignal arrived = new(_waiting, end);
        while (true)
        {
            List<RpcListener> stopped = _waiting.FindAll(listener => !listener.IsListening);
            foreach (object record in _waiting.SelectMany(listener => listener.Streams.Take()))
            {
                WriteRecord(record);
            }

            foreach (RpcListener listener in stopped)
            {
                _waiting.Remove(listener);
                WriteObject(listener);
            }

            if (_waiting.Count == 0 || Stopping || !arrived.Wait(Remaining(watch)))
            {
                return;
            }
        }
    }

    private TimeSpan Remaining(Stopwatch watch)
    {
        if (Timeout == System.Threading.Timeout.InfiniteTimeSpan)
        {
            return Timeout;
        }

        TimeSpan left = Timeout - watch.Elapsed;
        return left > TimeSpan.Zero ? left : TimeSpan.Zero;
    }
}
