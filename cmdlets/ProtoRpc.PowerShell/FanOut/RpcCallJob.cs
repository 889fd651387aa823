using System.Management.Automation;

namespace ProtoRpc.PowerShell;

/// <summary>Calls that run in the background, as a job of the shell: Receive-Job gives replies and errors.</summary>
public sealed class RpcCallJob : Job
{
    private readonly CancellationTokenSource _stopping = new();
    private readonly IReadOnlyList<FanOutCall> _calls;
    private readonly Func<FanOutResult, PSObject> _convert;
    private Task _running = Task.CompletedTask;
    private int _failed;

    internal RpcCallJob(string command, IReadOnlyList<FanOutCall> calls, Func<FanOutResult, PSObject> convert)
        : base(command, name: null)
    {
        PSJobTypeName = "RpcJob";
        _calls = calls;
        _convert = convert;
    }

    /// <summary>The endpoints that are called.</summary>
    public override string Location => string.Join(", ", _calls.Select(call => call.Connection.Endpoint).Distinct());

    /// <summary>How many calls there are, and how many failed so far.</summary>
    public override string StatusMessage => $"{_calls.Count} calls, {Volatile.Read(ref _failed)} failed";

    /// <summary>Whether there is something to receive.</summary>
    public override bool HasMoreData => Output.Count > 0 || Error.Count > 0;

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
            using FanOut calls = new(limit, Take, _stopping.Token);
            foreach (FanOutCall call in _calls)
            {
                calls.Start(call);
            }

            calls.Finish();
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
    }

    private void Take(FanOutResult result)
    {
        if (result.Error is { } error)
        {
            Interlocked.Increment(ref _failed);
            Error.Add(RpcErrors.ToRecord(error, result.Connection));
        }
        else
        {
            Output.Add(_convert(result));
        }
    }
}
