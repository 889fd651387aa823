using System.Diagnostics;
using System.Management.Automation;
using ProtoRpc.PowerShell.Listener;
using ProtoRpc.PowerShell.Runspaces;
using ProtoRpc.Transports;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Wait, "RpcListener", DefaultParameterSetName = ByListener)]
[OutputType(typeof(RpcListener))]
public sealed class WaitRpcListenerCommand : RpcStreamsCommand
{
    // Events take at most 24.8 days.
    private static readonly TimeSpan LongestStep = TimeSpan.FromDays(1);

    private readonly List<RpcListener> _waiting = [];
    private TimeSpan? _watchdog;

    [Parameter]
    [Deadline]
    public TimeSpan Timeout { get; set; } = System.Threading.Timeout.InfiniteTimeSpan;

    [Parameter]
    public SwitchParameter ExitOnTermination { get; set; }

    [Parameter]
    public SwitchParameter NotifyService { get; set; }

    protected override void Process() => _waiting.AddRange(ResolveListeners());

    // Shows what handlers write, until the listeners have stopped.
    protected override void End()
    {
        using ServiceNotifier? service =
            NotifyService ? ServiceNotifier.Create(Environment.GetEnvironmentVariable) : null;
        _watchdog = service?.WatchdogInterval;
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(Cancellation);
        if (!ExitOnTermination)
        {
            Termination.Add(end);
        }

        try
        {
            StreamPreferences.NeverStop(this, given: true);
            Notify(() => service?.Ready($"Serving {string.Join(", ", _waiting)}"));
            Wait(service, end.Token);
        }
        finally
        {
            Termination.Remove(end);
            if (end.IsCancellationRequested || _waiting.Count == 0)
            {
                Notify(() => service?.Stopping());
            }
        }
    }

    // If the service manager cannot be notified, the service still works.
    private void Notify(Action notify)
    {
        try
        {
            notify();
        }
        catch (RpcException e)
        {
            _watchdog = null;
            if (!Stopping)
            {
                WriteWarning(e.Message);
            }
        }
    }

    // The script's thread notifies systemd's watchdog, and only while all listeners listen. So systemd
    // restarts a process that hangs.
    private void Wait(ServiceNotifier? service, CancellationToken end)
    {
        Stopwatch watch = Stopwatch.StartNew();
        long nextSign = 0;
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

            if (_watchdog is { } interval && Stopwatch.GetTimestamp() >= nextSign)
            {
                nextSign = Stopwatch.GetTimestamp() + (long)(interval.TotalSeconds * Stopwatch.Frequency);
                Notify(() => service?.Alive());
            }

            TimeSpan left = Remaining(watch);
            TimeSpan step = _watchdog is not null && Until(nextSign) is var pause && pause < LongestStep
                ? pause
                : LongestStep;
            bool isStep = left < TimeSpan.Zero || step < left;
            if (_waiting.Count == 0 || Stopping || end.IsCancellationRequested
                || (!arrived.Wait(isStep ? step : left) && !isStep))
            {
                return;
            }
        }
    }

    private static TimeSpan Until(long timestamp)
    {
        TimeSpan time = Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), timestamp);
        return time > TimeSpan.Zero ? time : TimeSpan.Zero;
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
