using System.Management.Automation;
using System.Runtime.CompilerServices;
using ProtoRpc.PowerShell.Calls;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc;

/// <summary>Calls that run in the background, as a job of the shell:
/// Receive-Job gives replies and errors.</summary>
public sealed class RpcCallJob : Job
{
    private const int MaxNames = 5;

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

    /// <summary>The endpoints that are called, the first of many.</summary>
    public override string Location
    {
        get
        {
            string[] names = [.. _calls.Select(call => call.Place.Name).Distinct()];
            string first = string.Join(", ", names.Take(MaxNames));
            return names.Length > MaxNames ? $"{first}, and {names.Length - MaxNames} others" : first;
        }
    }

    /// <summary>How many calls there are, and how many failed so far.</summary>
    public override string StatusMessage => $"{_calls.Count} calls, {Volatile.Read(ref _failed)} failed";

    /// <summary>Whether there is something to receive.</summary>
    public override bool HasMoreData => Output.Count > 0 || Error.Count > 0 || Warning.Count > 0;

    /// <summary>Cancels the calls, and waits until they have ended.</summary>
    public override void StopJob()
    {
        _stopping.Cancel();
        _running.Wait();
        if (JobStateInfo.State == JobState.Running)
        {
            SetJobState(JobState.Stopped);
        }
    }

    /// <summary>Begins to call.</summary>
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
            SetJobState(_failed > 0 && _failed == _calls.Count ? JobState.Failed : JobState.Completed);
        }
        catch (OperationCanceledException)
        {
            SetJobState(JobState.Stopped);
        }
        catch (Exception e) when (e is PSInvalidOperationException or ObjectDisposedException)
        {
            // The job was removed meanwhile, and with it where its results would go.
        }
        catch (Exception e)
        {
            // Otherwise Wait-Job would never end.
            Error.Add(new ErrorRecord(e, RpcErrorIds.JobFailed, ErrorCategory.NotSpecified, this));
            SetJobState(JobState.Failed);
        }
    }

    // As part of the call, so that a reply that cannot be converted fails its call and no other.
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

    /// <summary>A reply as it is shown; null is also a reply.</summary>
    private sealed record Shown(PSObject? Reply);
}
