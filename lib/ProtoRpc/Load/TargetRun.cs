using System.Diagnostics;

namespace ProtoRpc.Load;

/// <summary>The test of one target, of which other targets' tests may take turns with parts.</summary>
internal sealed class TargetRun
{
    private readonly RpcLoadTarget _target;
    private readonly RpcLoadOptions _options;
    private readonly RpcCallOptions _call;
    private readonly LoadStop _stop;
    private readonly LoadTally _tally;
    private RpcException? _error;
    private long _firstCalls;
    private long _untilNext;

    public TargetRun(RpcLoadTarget target, RpcLoadOptions options)
    {
        _target = target;
        _options = options;
        _call = (options.CallOptions ?? new RpcCallOptions()) with { };

        // A stream without an end would keep the test from ending.
        _call.Timeout ??= RpcLimits.Default.CallTimeout;
        _stop = new LoadStop(options.MaxErrors);
        _tally = new LoadTally(options.Concurrency);
    }

    /// <summary>The name of the target.</summary>
    public string Name => _target.Name;

    /// <summary>Whether it has ended, before its time.</summary>
    public bool HasEnded => _error is not null || _stop.IsStopped;

    /// <summary>What calls have brought so far.</summary>
    public LoadTally Tally => _tally;

    /// <summary>Makes the first call alone, and decodes its reply. Where it fails as all calls would, the
    /// target is not measured.</summary>
    /// <remarks>It counts where the number of calls is given, so that a server gets as many.</remarks>
    public async Task CallOnceAsync(CancellationToken cancellation)
    {
        bool counts = _options.Count is not null && _options.WarmUp == TimeSpan.Zero;
        LoadTally tally = counts ? _tally : new LoadTally(1);
        CallSchedule schedule = new(Stopwatch.GetTimestamp(), duration: null, count: 1, rate: null);
        LoadSlice slice = new(_target, schedule, tally, _call, counts ? _stop : NoStop())
        {
            DecodesReplies = true,
        };
        await slice.RunAsync(callers: 1, cancellation).ConfigureAwait(false);
        RpcException? error = tally.FirstError;
        _error = error is not null && FailsAlways(error) ? error : null;
        _firstCalls = counts ? 1 : 0;
    }

    /// <summary>Calls the target for the time of the warm-up; what that brings does not count.</summary>
    public Task WarmUpAsync(CancellationToken cancellation)
    {
        CallSchedule schedule = new(
            Stopwatch.GetTimestamp(), _options.WarmUp, count: null, _options.Rate);
        return new LoadSlice(_target, schedule, new LoadTally(_options.Concurrency), _call, NoStop())
            .RunAsync(_options.Concurrency, cancellation);
    }

    /// <summary>Measures one of some equal parts of the test.</summary>
    public async Task MeasureAsync(int part, int parts, CancellationToken cancellation)
    {
        long? count = _options.Count - _firstCalls;
        CallSchedule schedule = new(
            Stopwatch.GetTimestamp(),
            _options.Duration / parts,
            LoadTurns.ShareOf(count, part, parts),
            _options.Rate,
            _untilNext);
        _untilNext = await new LoadSlice(_target, schedule, _tally, _call, _stop)
            .RunAsync(_options.Concurrency, cancellation).ConfigureAwait(false);
    }

    /// <summary>Ends the test before its time.</summary>
    public void Stop(string reason) => _stop.Stop(reason);

    /// <summary>What was found out.</summary>
    public RpcLoadResult ToResult() => _error is null
        ? _tally.ToResult(_target, _options, _stop.Reason, _target.Requests.Starved)
        : new RpcLoadResult
        {
            Name = _target.Name,
            Endpoint = _target.Clients[0].Endpoint.ToString(),
            Method = _target.Method.FullName,
            Concurrency = _options.Concurrency,
            Connections = _target.Clients.Count,
            Rate = _options.Rate,
            Error = _error,
        };

    private static LoadStop NoStop() => new(long.MaxValue);

    // Nothing was sent, or nothing that the server would answer in another way the next time.
    private static bool FailsAlways(RpcException error) => !error.MayHaveExecuted
        || error.ErrorId == RpcErrorIds.BadReply
        || error.Code is RpcStatusCode.Unimplemented or RpcStatusCode.Unauthenticated
            or RpcStatusCode.PermissionDenied;
}
