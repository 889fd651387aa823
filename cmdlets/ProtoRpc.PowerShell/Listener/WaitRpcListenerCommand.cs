using System.Diagnostics;
using System.Runtime.CompilerServices;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>The base of cmdlets that show the records that handlers wrote to their streams.</summary>
public abstract class RpcStreamsCommand : RpcListenerCommand
{
    // The tag of Write-Host's records. PowerShell shows records with this tag for every
    // $InformationPreference.
    private const string HostTag = "PSHOST";

    private protected RpcStreamsCommand()
    {
    }

    /// <summary>Writes a record to the stream that the handler wrote it to.</summary>
    protected void WriteRecord(object record)
    {
        if (OriginalRecord.TryWrite(CommandRuntime, record))
        {
            return;
        }

        switch (record)
        {
            case ErrorRecord error:
                // The line of an error that a handler wrote with Write-Error is one of the internal pipeline,
                // so it is not shown.
                if (FailureRecord.IsOf(error))
                {
                    OriginalRecord.KeepPlace(error);
                }

                WriteError(error);
                break;
            case WarningRecord warning:
                WriteWarning(warning.Message);
                break;
            case VerboseRecord verbose:
                WriteVerbose(verbose.Message);
                break;
            case DebugRecord debug:
                WriteDebug(debug.Message);
                break;
            case InformationRecord information:
                WriteInformation(Shown(information));
                break;
        }
    }

    // A user who receives records expects to see them, so information records are shown unless
    // -InformationAction says otherwise.
    private InformationRecord Shown(InformationRecord record)
    {
        if (record.Tags.Contains(HostTag) || MyInvocation.BoundParameters.ContainsKey("InformationAction"))
        {
            return record;
        }

        InformationRecord shown = NeutralRecord.Copy(record, record.MessageData);
        shown.Tags.Add(HostTag);
        RecordTime.Add(shown);
        return shown;
    }
}

[Cmdlet(VerbsLifecycle.Wait, "RpcListener", DefaultParameterSetName = ByListener)]
[OutputType(typeof(RpcListener))]
public sealed class WaitRpcListenerCommand : RpcStreamsCommand
{
    // An event can wait for at most 24.8 days.
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

    // Writes the records of the handlers until the listeners have stopped.
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
            // Not before the last reply is sent: the process may end after the wait.
            List<RpcListener> stopped = _waiting.FindAll(listener => listener.Completion.IsCompleted);
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

[Cmdlet(VerbsCommunications.Receive, "RpcListener", DefaultParameterSetName = ByListener)]
public sealed class ReceiveRpcListenerCommand : RpcStreamsCommand
{
    [Parameter]
    public SwitchParameter Keep { get; set; }

    protected override void Process()
    {
        IReadOnlyList<RpcListener> listeners = ResolveListeners();
        StreamPreferences.NeverStop(this, given: false);
        foreach (RpcListener listener in listeners)
        {
            foreach (object record in Keep ? listener.Streams.Peek() : listener.Streams.Take())
            {
                WriteRecord(record);
            }
        }
    }
}

/// <summary>Wakes a waiting cmdlet when a handler writes a record, or when a listener stops.</summary>
internal sealed class HandlerStreamsSignal : IDisposable
{
    private readonly ManualResetEventSlim _event = new(false);
    private readonly IReadOnlyList<RpcListener> _listeners;
    private readonly CancellationToken _cancellation;
    private readonly CancellationTokenSource _disposed = new();

    public HandlerStreamsSignal(IEnumerable<RpcListener> listeners, CancellationToken cancellation)
    {
        _listeners = [.. listeners];
        _cancellation = cancellation;
        foreach (RpcListener listener in _listeners)
        {
            listener.Streams.Added += _event.Set;
            listener.Completion.ContinueWith(
                _ => _event.Set(), _disposed.Token, TaskContinuationOptions.None, TaskScheduler.Default);
        }
    }

    /// <summary>Waits for the next signal.</summary>
    /// <returns>False if the time is over, or the wait was cancelled.</returns>
    public bool Wait(TimeSpan timeout)
    {
        try
        {
            bool set = _event.Wait(timeout, _cancellation);
            _event.Reset();
            return set;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    // The event itself is not disposed, because a listener that stops later may still set it.
    public void Dispose()
    {
        foreach (RpcListener listener in _listeners)
        {
            listener.Streams.Added -= _event.Set;
        }

        // Otherwise each wait of a script would stay in memory until its listener stops.
        _disposed.Cancel();
        _disposed.Dispose();
    }
}

/// <summary>Writes records of handlers with the handler's line and the record's time. Otherwise, the shell
/// gives them the line of the cmdlet that shows them.</summary>
internal static class OriginalRecord
{
    private const string Runtime = StreamPreferences.Runtime;

    /// <summary>Writes a warning, verbose or debug record itself, not only its text.</summary>
    /// <returns>False for another record, or if the host or this version of the shell cannot do
    /// it.</returns>
    public static bool TryWrite(ICommandRuntime runtime, object record)
    {
        if (!StreamPreferences.IsOfShell(runtime))
        {
            return false;
        }

        try
        {
            switch (record)
            {
                case WarningRecord warning:
                    WriteWarning(runtime, warning, false);
                    return true;
                case VerboseRecord verbose:
                    WriteVerbose(runtime, verbose, false);
                    return true;
                case DebugRecord debug:
                    WriteDebug(runtime, debug, false);
                    return true;
                default:
                    return false;
            }
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException)
        {
            // These members are not public.
            return false;
        }
    }

    /// <summary>Keeps the line of an error when a cmdlet writes it.</summary>
    public static void KeepPlace(ErrorRecord record)
    {
        try
        {
            SetKeepsPlace(record, true);
        }
        catch (MissingMemberException)
        {
            // The member is not public; without it, the error shows the line of the cmdlet.
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_PreserveInvocationInfoOnce")]
    private static extern void SetKeepsPlace(ErrorRecord record, bool value);

    [UnsafeAccessor(UnsafeAccessorKind.Method)]
    private static extern void WriteWarning(
        [UnsafeAccessorType(Runtime)] object runtime, WarningRecord record, bool overrideInquire);

    [UnsafeAccessor(UnsafeAccessorKind.Method)]
    private static extern void WriteVerbose(
        [UnsafeAccessorType(Runtime)] object runtime, VerboseRecord record, bool overrideInquire);

    [UnsafeAccessor(UnsafeAccessorKind.Method)]
    private static extern void WriteDebug(
        [UnsafeAccessorType(Runtime)] object runtime, DebugRecord record, bool overrideInquire);
}

/// <summary>Lets a cmdlet write other scripts' records without stopping or asking at one of them.</summary>
/// <remarks><c>$ErrorActionPreference = 'Stop'</c> is about the script's own commands. The records of
/// handlers are in the past; stopping at one would end the service because one call failed.</remarks>
internal static class StreamPreferences
{
    /// <summary>The type of the runtime of cmdlets in PowerShell.</summary>
    public const string Runtime =
        "System.Management.Automation.MshCommandRuntime, System.Management.Automation";

    /// <summary>Whether a runtime is PowerShell's own, and not one of a host or a test.</summary>
    public static bool IsOfShell(ICommandRuntime runtime) => runtime.GetType().Name == "MshCommandRuntime";

    /// <summary>Sets preferences that would stop the cmdlet or ask to Continue.</summary>
    /// <param name="cmdlet">The cmdlet, before it writes.</param>
    /// <param name="given">Whether to also change preferences that the caller gave as parameters.</param>
    public static void NeverStop(PSCmdlet cmdlet, bool given)
    {
        if (!IsOfShell(cmdlet.CommandRuntime))
        {
            return;
        }

        try
        {
            NeverStop(cmdlet, "Error", given, SetErrorAction);
            NeverStop(cmdlet, "Warning", given, SetWarningPreference);
            NeverStop(cmdlet, "Information", given, SetInformationPreference);
            NeverStop(cmdlet, "Debug", given, SetDebugPreference);
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException)
        {
            // These members are not public, and another version of the shell may not have them.
        }
    }

    private static void NeverStop(
        PSCmdlet cmdlet, string stream, bool given, Action<object, ActionPreference> set)
    {
        bool isGiven =
            cmdlet.MyInvocation.BoundParameters.TryGetValue($"{stream}Action", out object? preference);
        if (isGiven && !given)
        {
            return;
        }

        preference = isGiven ? preference : cmdlet.GetVariableValue($"{stream}ActionPreference")
            ?? cmdlet.GetVariableValue($"{stream}Preference");
        if (LanguagePrimitives.TryConvertTo(preference, out ActionPreference action)
            && action is ActionPreference.Stop or ActionPreference.Inquire)
        {
            set(cmdlet.CommandRuntime, ActionPreference.Continue);
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_ErrorAction")]
    private static extern void SetErrorAction(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_WarningPreference")]
    private static extern void SetWarningPreference(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_InformationPreference")]
    private static extern void SetInformationPreference(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_DebugPreference")]
    private static extern void SetDebugPreference(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);
}
