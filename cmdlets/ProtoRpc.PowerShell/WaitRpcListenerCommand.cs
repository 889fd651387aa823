using System.Diagnostics;
using System.Management.Automation;
using System.Runtime.InteropServices;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsLifecycle.Wait, "RpcListener", DefaultParameterSetName = ByListener)]
[OutputType(typeof(RpcListener))]
public sealed class WaitRpcListenerCommand : RpcStreamsCommand
{
    private readonly List<RpcListener> _waiting = [];

    [Parameter]
    [Deadline]
    public TimeSpan Timeout { get; set; } = System.Threading.Timeout.InfiniteTimeSpan;

    [Parameter]
    public SwitchParameter UntilTerminated { get; set; }

    protected override void Process() => _waiting.AddRange(ResolveListeners());

    // Shows what the handlers write as it comes, until the listeners have stopped.
    protected override void End()
    {
        Stopwatch watch = Stopwatch.StartNew();
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(Cancellation);
        using PosixSignalRegistration? termination = UntilTerminated ? EndOnTermination(end) : null;
        using HandlerStreamsSignal arrived = new(_waiting, end.Token);
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

    // What whoever runs containers or services sends to end a process; it ends by what the script does next.
    private static PosixSignalRegistration EndOnTermination(CancellationTokenSource end) =>
        PosixSignalRegistration.Create(PosixSignal.SIGTERM, context =>
        {
            context.Cancel = true;
            try
            {
                end.Cancel();
            }
            catch (ObjectDisposedException)
            {
                // The wait is over, and the script goes on as it would.
            }
        });

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
