using System.Diagnostics;
using System.Runtime.CompilerServices;
using ProtoRpc.Client;
using ProtoRpc.Transports;

namespace ProtoRpc.LoadTesting;

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
        RpcCallOptions call = options.CallOptions ?? new RpcCallOptions();

        // A stream that never ends must not keep the test from ending.
        _call = call with { Timeout = call.Timeout ?? RpcLimits.Default.CallTimeout };
        _stop = new LoadStop(options.MaxErrors);
        _tally = new LoadTally(options.Concurrency);
    }

    /// <summary>The name of the target.</summary>
    public string Name => _target.Name;

    /// <summary>Whether it has ended, before its time.</summary>
    public bool HasEnded => _error is not null || _stop.IsStopped;

    /// <summary>The results of the calls.</summary>
    public LoadTally Tally => _tally;

    /// <summary>Makes the first call and decodes its reply. If all calls would fail in the same way, the
    /// target is not measured.</summary>
    /// <remarks>The call counts if the number of calls is given, so that the server receives this
    /// number.</remarks>
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
        CallSchedule schedule = new(Stopwatch.GetTimestamp(), _options.WarmUp, count: null, _options.Rate);
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

    /// <summary>The result.</summary>
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

    // The call was not sent, or the server would reply in the same way to the next call.
    private static bool FailsAlways(RpcException error) => !error.MayHaveExecuted
        || error.ErrorId == RpcErrorIds.BadReply
        || error.Code is RpcStatusCode.Unimplemented or RpcStatusCode.Unauthenticated
            or RpcStatusCode.PermissionDenied;
}

/// <summary>A time in which callers call one target.</summary>
/// <param name="target">The target.</param>
/// <param name="schedule">The calls and their times.</param>
/// <param name="tally">Counts the calls.</param>
/// <param name="options">The options of a call.</param>
/// <param name="stop">Ends the slice before its time.</param>
internal sealed class LoadSlice(
    RpcLoadTarget target, CallSchedule schedule, LoadTally tally, RpcCallOptions options, LoadStop stop)
{
    // More callers than this share the thread pool.
    private const int MaxThreads = 256;

    // The maximum time that a waiting caller sleeps between two checks whether the test continues.
    private const int MaxSleepMilliseconds = 50;

    private readonly Lock _gate = new();
    private long _begin = long.MaxValue;
    private long _end;

    /// <summary>Whether to decode replies, to check that they fit the schema.</summary>
    public bool DecodesReplies { get; init; }

    /// <summary>Runs callers until the last of their calls has ended.</summary>
    /// <param name="callers">How many.</param>
    /// <param name="cancellation">Also ends the calls that run, whose results do not count.</param>
    /// <returns>How long after the end of the slice the next call is due, in ticks.</returns>
    public async Task<long> RunAsync(int callers, CancellationToken cancellation)
    {
        bool blocks = target.Method.IsUnary && callers <= MaxThreads && HoldsThreads(target.Clients[0]);
        Task[] all = new Task[callers];
        for (int i = 0; i < callers; i++)
        {
            int caller = i;
            all[i] = blocks
                ? Task.Factory.StartNew(
                    () => TimedAsync(() => CallAsync<BlockingWait>(caller, cancellation)),
                    CancellationToken.None,
                    TaskCreationOptions.LongRunning,
                    TaskScheduler.Default).Unwrap()
                : Task.Run(
                    () => TimedAsync(() => CallAsync<AsyncWait>(caller, cancellation)),
                    CancellationToken.None);
        }

        try
        {
            await Task.WhenAll(all).ConfigureAwait(false);
            await StayAsync(cancellation).ConfigureAwait(false);
            return schedule.UntilNext(_end);
        }
        finally
        {
            tally.AddNotSent(schedule.NotSent(Stopwatch.GetTimestamp()));
            tally.Elapsed += Stopwatch.GetElapsedTime(schedule.Start ?? _begin, _end);
        }
    }

    // Waits until the end of the slice: no further call is due, but the slice must have its full length.
    private async Task StayAsync(CancellationToken cancellation)
    {
        if (schedule.OpenUntil is not { } until || stop.IsStopped)
        {
            return;
        }

        while (SleepBefore(until) is > 0 and int milliseconds && !cancellation.IsCancellationRequested)
        {
            await Task.Delay(milliseconds, CancellationToken.None).ConfigureAwait(false);
        }

        End();
    }

    // Calls on blocking threads are the fastest, except over .NET's HTTP client, which is asynchronous.
    private static bool HoldsThreads(RpcClient client) =>
        !client.Endpoint.Has(EndpointFeatures.AspNetCore) && !client.Endpoint.IsOverHttp;

    // The time from the start of the first caller to the end of the last one, because threads need time to
    // start.
    private async Task TimedAsync(Func<Task> call)
    {
        Begin();
        try
        {
            await call().ConfigureAwait(false);
        }
        finally
        {
            End();
        }
    }

    private void Begin()
    {
        lock (_gate)
        {
            _begin = Math.Min(_begin, Stopwatch.GetTimestamp());
        }
    }

    private void End()
    {
        lock (_gate)
        {
            _end = Math.Max(_end, Stopwatch.GetTimestamp());
        }
    }

    private async Task CallAsync<TWait>(int caller, CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        RpcClient client = ClientOf(caller);
        LoadTally.Shard shard = tally.ShardOf(caller);
        ReplyReader<IMessage> read = client.MeasuringReader(target.Method, DecodesReplies);

        // A separate source for each caller, because callers would compete for the lock of a shared one.
        using CancellationTokenSource calls = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        long start = 0;
        CallerDelay delay = new();
        while (!stop.IsStopped && !calls.IsCancellationRequested
            && schedule.TryTake(Stopwatch.GetTimestamp(), out long due))
        {
            try
            {
                LoadRequest request = TWait.IsBlocking
                    ? target.Requests.Next(calls.Token)
                    : await target.Requests.NextAsync(calls.Token).ConfigureAwait(false);
                long free = Stopwatch.GetTimestamp();
                while (schedule.IsPaced && SleepBefore(due) is > 0 and int milliseconds)
                {
                    await TWait.PauseAsync(TimeSpan.FromMilliseconds(milliseconds), calls.Token)
                        .ConfigureAwait(false);
                    if (stop.IsStopped)
                    {
                        return;
                    }
                }

                start = StartOf(due, free, ref delay, shard);
                if (target.Method.IsUnary)
                {
                    IMessage reply = await client.MeasureAsync<TWait>(
                        target.Method, request.Messages[0], read, options, calls.Token).ConfigureAwait(false);
                    shard.Succeed(Stopwatch.GetTimestamp() - start);
                    shard.AddMessages(1, request.Bytes, 1, reply.CalculateSize());
                }
                else
                {
                    await StreamAsync(client, request, read, shard, calls.Token).ConfigureAwait(false);
                    shard.Succeed(Stopwatch.GetTimestamp() - start);
                }
            }
            catch (Exception e) when (!IsCancelled(e, calls.Token))
            {
                Fail(e, shard, start);
            }
            catch (Exception)
            {
                return;
            }
        }
    }

    // Messages are counted when they are sent and received, because a stream may be long.
    private async Task StreamAsync(
        RpcClient client, LoadRequest request, ReplyReader<IMessage> read, LoadTally.Shard shard,
        CancellationToken cancellation)
    {
        IAsyncEnumerable<IMessage> replies = client.MeasureStream(
            target.Method, SendAsync(request, shard, cancellation), read, options, cancellation);
        await foreach (IMessage reply in replies.ConfigureAwait(false))
        {
            shard.AddMessages(0, 0, 1, reply.CalculateSize());
        }
    }

    private static async IAsyncEnumerable<IMessage> SendAsync(
        LoadRequest request, LoadTally.Shard shard, [EnumeratorCancellation] CancellationToken cancellation)
    {
        foreach (IMessage message in request.Messages)
        {
            cancellation.ThrowIfCancellationRequested();
            yield return message;
            shard.AddMessages(1, message.CalculateSize(), 0, 0);
        }

        await Task.CompletedTask.ConfigureAwait(false);
    }

    private RpcClient ClientOf(int caller) => target.Clients[caller % target.Clients.Count];

    // Rounded up to milliseconds, because a delay of less than one would not wait.
    private static int SleepBefore(long due) => (int)Math.Min(
        Math.Ceiling((due - Stopwatch.GetTimestamp()) * (1000.0 / Stopwatch.Frequency)),
        MaxSleepMilliseconds);

    private long StartOf(long due, long free, ref CallerDelay delay, LoadTally.Shard shard)
    {
        if (!schedule.IsPaced)
        {
            return Stopwatch.GetTimestamp();
        }

        long start = delay.StartOf(due, free, Stopwatch.GetTimestamp(), out bool isLate);
        if (isLate)
        {
            shard.AddLate();
        }

        return start;
    }

    private void Fail(Exception error, LoadTally.Shard shard, long start)
    {
        if (error is not RpcException failure)
        {
            // An error of the test itself, not of a call.
            stop.Stop();
            throw error;
        }

        tally.Fail(shard, failure, Stopwatch.GetTimestamp() - start);
        stop.CountFailure(tally);
    }

    private static bool IsCancelled(Exception error, CancellationToken calls) =>
        calls.IsCancellationRequested && error is RpcException or OperationCanceledException;
}

/// <summary>The calls of a slice, and when they are due. Times are ticks of <see cref="Stopwatch"/>, which
/// the caller reads, so that tests need no clock. Thread-safe.</summary>
/// <param name="start">When the slice begins.</param>
/// <param name="duration">How long calls are begun; null where <paramref name="count"/> ends it.</param>
/// <param name="count">How many calls are begun at most; null where <paramref name="duration"/> ends
/// it.</param>
/// <param name="rate">Calls a second; null for calls as fast as callers are free.</param>
/// <param name="untilFirst">The time from the start to the first call at a rate: the result of <see
/// cref="UntilNext"/> for the previous slice.</param>
internal sealed class CallSchedule(
    long start, TimeSpan? duration, long? count, double? rate, long untilFirst = 0)
{
    private readonly long _start = start;
    private readonly long _end = duration is { } time
        ? start + (long)(time.TotalSeconds * Stopwatch.Frequency)
        : long.MaxValue;
    private readonly long _count = count ?? long.MaxValue;
    private readonly double _interval = rate is { } perSecond ? Stopwatch.Frequency / perSecond : 0;
    private readonly long _first = start + untilFirst;
    private long _next = -1;
    private long _sent;

    /// <summary>The start of the slice, if its length or the times of its calls are given; null if it lasts
    /// as long as its calls.</summary>
    public long? Start => IsPaced || _end < long.MaxValue ? _start : null;

    /// <summary>Whether calls are due at times, whether or not a caller is free.</summary>
    public bool IsPaced => _interval > 0;

    /// <summary>The end of a slice that continues after its calls have ended; null if it ends with
    /// them.</summary>
    /// <remarks>A slice that ended with its last call would be shorter than the time in which as many calls
    /// are due.</remarks>
    public long? OpenUntil =>
        IsPaced && _end < long.MaxValue && Interlocked.Read(ref _sent) < _count ? _end : null;

    /// <summary>The next call for a caller that is free.</summary>
    /// <param name="now">The time.</param>
    /// <param name="due">When the call is due; <paramref name="now"/> where calls are not paced.</param>
    /// <returns>False when no further call is begun.</returns>
    public bool TryTake(long now, out long due)
    {
        due = now;
        if (now >= _end)
        {
            return false;
        }

        long index = Interlocked.Increment(ref _next);
        if (index >= _count)
        {
            return false;
        }

        if (IsPaced)
        {
            due = DueOf(index);
            if (due >= _end)
            {
                return false;
            }
        }

        Interlocked.Increment(ref _sent);
        return true;
    }

    /// <summary>Calls that were due and that no caller has taken.</summary>
    /// <param name="now">The time, once no further call is taken.</param>
    public long NotSent(long now)
    {
        if (!IsPaced)
        {
            return 0;
        }

        return Math.Max(0, DueBy(now) - Interlocked.Read(ref _sent));
    }

    /// <summary>The time from the end of this slice to the next call, if the next slice has the same rate; 0
    /// if calls are not paced, or the call is already due.</summary>
    /// <param name="end">When the slice ended.</param>
    public long UntilNext(long end) => IsPaced ? Math.Max(0, DueOf(DueBy(end)) - Math.Min(end, _end)) : 0;

    // The number of calls that were due before a time.
    private long DueBy(long now)
    {
        double due = Math.Ceiling((Math.Min(now, _end) - _first) / _interval);
        return (long)Math.Clamp(due, 0, _count);
    }

    private long DueOf(long index) => _first + (long)(index * _interval);
}

/// <summary>When the latency of a caller's calls begins, if calls are due at times.</summary>
/// <remarks>A call that is due while its caller waits for the server counts from then. A caller that sleeps
/// until its call is due wakes up about a millisecond late, which is no delay of the server's. The calls that
/// were due while it slept count as if they were due that much later.</remarks>
internal struct CallerDelay
{
    private long _overslept;
    private long _awake;
    private bool _hasCalled;

    /// <summary>When the latency of a call begins.</summary>
    /// <param name="due">When the call is due.</param>
    /// <param name="free">When the caller was free for it.</param>
    /// <param name="now">The time when it is sent.</param>
    /// <param name="isLate">Whether it was sent late because its caller waited for the server.</param>
    public long StartOf(long due, long free, long now, out bool isLate)
    {
        isLate = false;
        if (!_hasCalled || free <= due)
        {
            _hasCalled = true;
            _awake = now;
            _overslept = now - due;
            return now;
        }

        long start = due < _awake ? due + _overslept : due;
        isLate = start < now;
        return isLate ? start : now;
    }
}

/// <summary>Ends the test of one target before its time: after too many failures. Safe for use by many
/// threads.</summary>
/// <param name="maxErrors">Calls that may fail; null to stop when the first calls have all failed.</param>
internal sealed class LoadStop(long? maxErrors)
{
    // If this many first calls in a row fail, the test measures nothing and ends.
    private const int Hopeless = 100;

    private long _failed;
    private string? _reason;
    private volatile bool _isStopped;

    /// <summary>Whether no further call is begun.</summary>
    public bool IsStopped => _isStopped;

    /// <summary>The reason; null if the test was not stopped.</summary>
    public string? Reason => Volatile.Read(ref _reason);

    /// <summary>Ends the test.</summary>
    public void Stop(string? reason = null)
    {
        Interlocked.CompareExchange(ref _reason, reason, null);
        _isStopped = true;
    }

    /// <summary>Counts a failure, and stops at the limit. Each failing caller checks the limit, so that none
    /// begins another call while the test is being stopped.</summary>
    public void CountFailure(LoadTally tally)
    {
        long failed = Interlocked.Increment(ref _failed);
        if (failed > maxErrors)
        {
            Stop($"More than {maxErrors:N0} calls failed.");
        }
        else if (maxErrors is null && failed >= Hopeless && !tally.HasSucceeded)
        {
            Stop($"The first {Hopeless} calls all failed.");
        }
    }
}
