using System.Management.Automation;
using System.Runtime.CompilerServices;
using ProtoRpc.PowerShell.Calls;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc;

/// <summary>Calls that run in the background as a PowerShell job. Receive-Job returns replies and
/// errors.</summary>
public sealed class RpcCallJob : Job
{
    private const int MaxNames = 5;
    private static readonly TimeSpan StopTime = TimeSpan.FromSeconds(1);

    private readonly CancellationTokenSource _stopping = new();
    private readonly IReadOnlyList<FanOutCall> _calls;
    private readonly Func<FanOutResult, Action<string>, PSObject?> _convert;
    private readonly Action _ended;
    private readonly string _activity;
    private Task _running = Task.CompletedTask;
    private int _failed;

    internal RpcCallJob(
        string command,
        string activity,
        IReadOnlyList<FanOutCall> calls,
        Func<FanOutResult, Action<string>, PSObject?> convert,
        Action ended)
        : base(command, name: null)
    {
        PSJobTypeName = "RpcJob";
        _activity = activity;
        _calls = [.. calls.Select(call => call with { Replies = end => Convert(call, end) })];
        _convert = convert;
        _ended = ended;
    }

    /// <summary>The endpoints of the calls; only the first ones if there are many.</summary>
    public override string Location
    {
        get
        {
            string[] names = [.. _calls.Select(call => call.Place.Name).Distinct()];
            string first = string.Join(", ", names.Take(MaxNames));
            return names.Length > MaxNames ? $"{first}, and {names.Length - MaxNames} others" : first;
        }
    }

    /// <summary>The number of calls, and how many have failed so far.</summary>
    public override string StatusMessage => $"{_calls.Count} calls, {Volatile.Read(ref _failed)} failed";

    /// <summary>Whether Receive-Job has something to return.</summary>
    public override bool HasMoreData => Output.Count > 0 || Error.Count > 0 || Warning.Count > 0;

    /// <summary>Cancels the calls, and waits until they have ended, for at most a second.</summary>
    public override void StopJob()
    {
        // In a pipeline of Receive-Job, the end waits for the pipeline, which waits here.
        _stopping.Cancel();
        if (_running.Wait(StopTime) && JobStateInfo.State == JobState.Running)
        {
            SetJobState(JobState.Stopped);
        }
    }

    /// <summary>Starts the calls.</summary>
    internal void Start(int limit)
    {
        SetJobState(JobState.Running);
        _running = Task.Factory.StartNew(
            () => Run(limit), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _stopping.Cancel();
        }

        base.Dispose(disposing);
    }

    private void Run(int limit)
    {
        try
        {
            using FanOut calls = new(limit, Take, new WaitProgress(_activity, Progress.Add), _stopping.Token)
            { Total = _calls.Count };
            foreach (FanOutCall call in _calls)
            {
                calls.Start(call);
            }

            calls.Finish();
            _ended();
            WaitForReader();
            SetJobState(_failed > 0 && _failed == _calls.Count ? JobState.Failed : JobState.Completed);
        }
        catch (OperationCanceledException)
        {
            SetJobState(JobState.Stopped);
        }
        catch (Exception e) when (e is PSInvalidOperationException or ObjectDisposedException)
        {
            // The job was removed while its calls ended, so there is nowhere to write the results.
        }
        catch (Exception e)
        {
            // Without an error and an end, Wait-Job would wait forever.
            Error.Add(new ErrorRecord(e, RpcErrorIds.JobFailed, ErrorCategory.NotSpecified, this));
            SetJobState(JobState.Failed);
        }
    }

    // Receive-Job -Wait holds back what is added while it writes what it found, but not the state. If the job
    // ends meanwhile, -AutoRemoveJob removes it twice, and the second time is an error.
    private void WaitForReader() =>
        Progress.Add(new ProgressRecord(0, _activity, "Done") { RecordType = ProgressRecordType.Completed });

    // The conversion is part of the call, so that a reply that cannot be converted fails only its own call.
    private async IAsyncEnumerable<object> Convert(
        FanOutCall call, [EnumeratorCancellation] CancellationToken cancellation = default)
    {
        await foreach (object reply in call.Replies(cancellation).ConfigureAwait(false))
        {
            yield return new Shown(_convert(
                new FanOutResult(call.Place, reply, Error: null), text =>
                    Warning.Add(new WarningRecord(text))));
        }
    }

    private void Take(FanOutResult result)
    {
        if (result.Error is { } error)
        {
            Interlocked.Increment(ref _failed);
            Error.Add(RpcErrors.ToRecord(error, result.Place.Target, result.Row));
            return;
        }

        PSObject? reply = ((Shown)result.Reply!).Reply;
        if (reply?.BaseObject is RpcCallResult { Error: not null })
        {
            Interlocked.Increment(ref _failed);
        }

        Output.Add(reply);
    }

    /// <summary>A converted reply. A null reply is also a reply.</summary>
    private sealed record Shown(PSObject? Reply);
}
