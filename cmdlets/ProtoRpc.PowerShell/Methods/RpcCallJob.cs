using System.Diagnostics;
using System.Runtime.CompilerServices;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Methods;

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
        // If this runs in a pipeline of Receive-Job, the job's end would wait for the pipeline, so the wait
        // is limited.
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
            // Without an error and a final state, Wait-Job would wait forever.
            Error.Add(new ErrorRecord(e, RpcErrorIds.JobFailed, ErrorCategory.NotSpecified, this));
            SetJobState(JobState.Failed);
        }
    }

    // While Receive-Job -Wait writes results, it delays added records, but not the state. If the job ends at
    // that time, -AutoRemoveJob removes it twice, which fails. Adding a record waits for Receive-Job.
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

/// <summary>The result of one of many calls: one row for each endpoint, including the endpoints that sent no
/// reply.</summary>
public sealed class RpcCallResult
{
    internal RpcCallResult(string name, RpcEndpoint? endpoint)
    {
        Name = name;
        Endpoint = endpoint?.ToString() ?? name;
    }

    /// <summary>The registered name of the endpoint, or its text as it was given.</summary>
    public string Name { get; private set; }

    /// <summary>The endpoint; of a connection to several servers, the one of the last attempt.</summary>
    public string Endpoint { get; private set; }

    /// <summary>How the call ended.</summary>
    public RpcStatusCode Status => Error?.Code ?? RpcStatusCode.OK;

    /// <summary>The reply; an array for a stream of replies. Null if the call failed before its first
    /// reply.</summary>
    public object? Reply { get; internal set; }

    /// <summary>Why the call failed; null if it succeeded.</summary>
    public RpcException? Error { get; internal set; }

    /// <summary>The duration of the call in milliseconds, including the time to connect.</summary>
    public double Milliseconds { get; internal set; }

    /// <summary>The counts of all calls of the same command.</summary>
    public RpcCallSummary Summary { get; internal set; } = new();

    /// <summary>Names the server of a connection to several.</summary>
    internal void SetServer(RpcEndpoint server) => Name = Endpoint = server.ToString();

    /// <summary>The warnings to write for this call.</summary>
    internal List<string> Warnings { get; } = [];

    /// <inheritdoc/>
    public override string ToString() => $"{Endpoint}: {Status}";
}

/// <summary>Counts the calls of one command by status.</summary>
public sealed class RpcCallSummary
{
    private readonly SortedDictionary<RpcStatusCode, int> _counts = [];

    /// <summary>The number of calls.</summary>
    public int Total { get; private set; }

    /// <summary>The number of calls that succeeded.</summary>
    public int Succeeded => CountOf(RpcStatusCode.OK);

    /// <summary>The number of calls that failed.</summary>
    public int Failed => Total - Succeeded;

    /// <summary>Whether all calls have ended.</summary>
    public bool IsComplete { get; internal set; }

    /// <summary>The number of calls that ended with a status.</summary>
    public int CountOf(RpcStatusCode status)
    {
        lock (_counts)
        {
            return _counts.GetValueOrDefault(status);
        }
    }

    /// <summary>The counts in one line, such as <c>320 calls: 312 OK, 8 Unavailable</c>. Until all calls have
    /// ended, the text is constant, so that Format-Table shows the rows as one group.</summary>
    public override string ToString()
    {
        lock (_counts)
        {
            if (!IsComplete)
            {
                return "incomplete: not all calls had ended";
            }

            string counts = string.Join(", ", _counts.Select(pair => $"{pair.Value} {pair.Key}"));
            return $"{Total} {(Total == 1 ? "call" : "calls")}: {counts}";
        }
    }

    internal void Add(RpcStatusCode status)
    {
        lock (_counts)
        {
            Total++;
            _counts[status] = _counts.GetValueOrDefault(status) + 1;
        }
    }
}

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
        if (call.Place.Info?.Endpoint is { } server)
        {
            row.SetServer(server);
        }

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
