using System.Diagnostics;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using ProtoRpc.Client;

namespace ProtoRpc.Load;

/// <summary>A time in which callers call one target.</summary>
/// <param name="target">The target.</param>
/// <param name="schedule">Which calls are made, and when.</param>
/// <param name="tally">Where calls are counted.</param>
/// <param name="options">How a call is made.</param>
/// <param name="stop">Ends the slice before its time.</param>
internal sealed class LoadSlice(
    RpcLoadTarget target, CallSchedule schedule, LoadTally tally, RpcCallOptions options, LoadStop stop)
{
    // Beyond, callers share the thread pool.
    private const int MaxThreads = 256;

    // How long a caller that waits for a call to become due sleeps without asking whether the test goes on.
    private const int MaxSleepMilliseconds = 50;

    private readonly Lock _gate = new();
    private long _begin = long.MaxValue;
    private long _end;

    /// <summary>Whether replies are decoded, to see that they are what the schema says.</summary>
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
                    () => Timed(() => Call(caller, cancellation)),
                    CancellationToken.None,
                    TaskCreationOptions.LongRunning,
                    TaskScheduler.Default)
                : Task.Run(() => TimedAsync(() => CallAsync(caller, cancellation)), CancellationToken.None);
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

    // No call is due before the end of the slice.
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

    // Calls are fastest on threads that block, but for those of .NET's HTTP client, which are asynchronous.
    private static bool HoldsThreads(RpcClient client) => !client.Endpoint.Has(EndpointFeatures.AspNetCore);

    // From the begin of the first caller to the end of the last one: threads take their time to start.
    private void Timed(Action call)
    {
        Begin();
        try
        {
            call();
        }
        finally
        {
            End();
        }
    }

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

    private void Call(int caller, CancellationToken cancellation)
    {
        RpcClient client = ClientOf(caller);
        LoadTally.Shard shard = tally.ShardOf(caller);
        ReplyReader<IMessage> read = client.MeasuringReader(target.Method, DecodesReplies);

        // A separate source for each caller, so that callers do not compete for the lock of a shared one.
        using CancellationTokenSource calls = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        long start = 0;
        CallerDelay delay = new();
        while (!stop.IsStopped && !calls.IsCancellationRequested
            && schedule.TryTake(Stopwatch.GetTimestamp(), out long due))
        {
            try
            {
                LoadRequest request = target.Requests.Take(calls.Token);
                long free = Stopwatch.GetTimestamp();
                while (schedule.IsPaced && SleepBefore(due) is > 0 and int milliseconds)
                {
                    Thread.Sleep(milliseconds);
                    calls.Token.ThrowIfCancellationRequested();
                    if (stop.IsStopped)
                    {
                        return;
                    }
                }

                start = StartOf(due, free, ref delay, shard);
                IMessage reply = client.Measure(
                    target.Method, request.Messages[0], read, options, calls.Token);
                shard.Succeed(Stopwatch.GetTimestamp() - start);
                shard.AddMessages(1, request.Bytes, 1, reply.CalculateSize());
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

    private async Task CallAsync(int caller, CancellationToken cancellation)
    {
        RpcClient client = ClientOf(caller);
        LoadTally.Shard shard = tally.ShardOf(caller);
        ReplyReader<IMessage> read = client.MeasuringReader(target.Method, DecodesReplies);
        using CancellationTokenSource calls = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        long start = 0;
        CallerDelay delay = new();
        while (!stop.IsStopped && !calls.IsCancellationRequested
            && schedule.TryTake(Stopwatch.GetTimestamp(), out long due))
        {
            try
            {
                LoadRequest request = await target.Requests.TakeAsync(calls.Token).ConfigureAwait(false);
                long free = Stopwatch.GetTimestamp();
                while (schedule.IsPaced && SleepBefore(due) is > 0 and int milliseconds)
                {
                    await Task.Delay(milliseconds, calls.Token).ConfigureAwait(false);
                    if (stop.IsStopped)
                    {
                        return;
                    }
                }

                start = StartOf(due, free, ref delay, shard);
                if (target.Method.IsUnary)
                {
                    IMessage reply = await client.MeasureAsync(
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

    // Messages count as they go and come, for a stream may be long.
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

    // Timers know milliseconds only, and less than one would be none.
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
            // Of the test itself, not of a call.
            stop.Stop();
            throw error;
        }

        tally.Fail(shard, failure, Stopwatch.GetTimestamp() - start);
        stop.CountFailure(tally);
    }

    private static bool IsCancelled(Exception error, CancellationToken calls) =>
        calls.IsCancellationRequested && error is RpcException or OperationCanceledException;
}
