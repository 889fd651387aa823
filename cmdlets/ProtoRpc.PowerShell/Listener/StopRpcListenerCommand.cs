using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

[Cmdlet(
    VerbsLifecycle.Stop, "RpcListener", DefaultParameterSetName = ByListener, SupportsShouldProcess = true)]
[OutputType(typeof(RpcListener))]
public sealed class StopRpcListenerCommand : RpcListenerCommand
{
    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? DrainTimeout { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    protected override void Process()
    {
        foreach (RpcListener listener in ResolveListeners())
        {
            if (ShouldProcess(listener.ToString(), "Stop the listener"))
            {
                Stop(listener);
                if (PassThru)
                {
                    WriteObject(listener);
                }
            }
        }
    }

    // Running calls have time to end. Ctrl+C ends the wait for them, but the listener continues to stop.
    private void Stop(RpcListener listener)
    {
        RunspaceStore store = RunspaceStore.Current;
        Task stopping = Task.Run(() => store.Stop(listener, DrainTimeout));
        using WaitProgress progress = new($"Stopping {listener}", WriteProgress);
        while (Task.WaitAny([stopping], (int)WaitProgress.Period.TotalMilliseconds, Cancellation) < 0)
        {
            progress.Report(() => $"{listener.InFlight} calls are running");
        }

        stopping.GetAwaiter().GetResult();
        if (listener is RpcMockListener mock)
        {
            MockDrive.Remove(mock, SessionState);
        }
    }
}
