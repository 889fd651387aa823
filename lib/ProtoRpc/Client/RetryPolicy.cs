using System.Runtime.CompilerServices;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Whether, when and how often a client makes a call again, on every transport: only calls that the
/// server cannot have received, or has rejected before they ran. All rules for retries are here.</summary>
/// <param name="Endpoint">The endpoint, for errors.</param>
/// <param name="Retries">The number of retries; 0 for none. Waiting for an unreachable server does not count
/// as one.</param>
/// <param name="Log">Logs the attempts that are retried; null for none.</param>
internal sealed record RetryPolicy(RpcEndpoint Endpoint, int Retries, ClientLog? Log)
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    // Shorter pauses, because the caller waits for the server to start.
    private static readonly TimeSpan LongestPauseOfWaiting = TimeSpan.FromSeconds(1);

    // The longest pause that a busy server can ask for. If it asks for more, the call fails.
    private static readonly TimeSpan LongestPauseOfBusy = TimeSpan.FromMinutes(1);

    // A retry is only made if at least this much time is left.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(10);

    /// <summary>Whether a failed attempt may be followed by another one.</summary>
    public static bool Covers(RpcException failure) => IsUnreached(failure) || IsBusy(failure);

    /// <summary>Whether a call surely did not reach its server, so that it can be made again,
    /// there or elsewhere.</summary>
    public static bool IsUnreached(RpcException e) => !e.MayHaveExecuted && !IsBusy(e)
        && (e.Code == RpcStatusCode.Unavailable || e.ErrorId == RpcErrorIds.ConnectTimeout);

    /// <summary>Whether a server or a proxy was too busy and rejected the call before it ran. The call can be
    /// made again after a pause; at another server without one, it would only move the overload.</summary>
    public static bool IsBusy(RpcException e) => !e.MayHaveExecuted && e.RetryAfter is not null;

    /// <summary>Whether no server was reachable. A reachable server that cannot be used, because
    /// of its protocol or its certificate, is not absent: waiting for it does not help.</summary>
    public static bool IsAbsent(RpcException e) => IsUnreached(e)
        && (e.ErrorId is RpcErrorIds.ConnectTimeout or RpcErrorIds.NoServerReached
        or RpcErrorIds.ConnectionLost
            || e.ErrorId == RpcErrorIds.OfStatus(RpcStatusCode.Unavailable));

    /// <summary>Whether there is time for another attempt.</summary>
    /// <param name="clock">The time for all attempts.</param>
    /// <param name="retryAfter">The pause that the server asked for; null for none.</param>
    public static bool HasTime(CallClock clock, TimeSpan? retryAfter)
    {
        if (clock.IsEndless)
        {
            return !(retryAfter > LongestPauseOfBusy);
        }

        TimeSpan left = clock.Left;
        return left >= LeastTime && !(retryAfter > LongestPauseOfBusy) && !(retryAfter > left - LeastTime);
    }

    /// <summary>The pause before the next attempt. Pauses grow, and have jitter, so that clients that failed
    /// at the same time do not all retry at the same time.</summary>
    /// <param name="clock">The time for all attempts.</param>
    /// <param name="pauses">The number of earlier pauses.</param>
    /// <param name="waits">Whether the call waits for an unreachable server.</param>
    /// <param name="retryAfter">The pause that the server asked for; null for none.</param>
    public static TimeSpan Pause(CallClock clock, int pauses, bool waits, TimeSpan? retryAfter)
    {
        TimeSpan first = waits ? FirstPause / 2 : FirstPause;
        TimeSpan longest = waits ? LongestPauseOfWaiting : LongestPause;
        TimeSpan pause = first * Math.Min(1 << Math.Min(pauses, 20), longest / first);
        pause *= 0.5 + Random.Shared.NextDouble();
        TimeSpan left = clock.Left;
        pause = clock.IsEndless || pause <= left / 2 ? pause : left / 2;
        return retryAfter is { } least && pause < least ? least + (pause / 2) : pause;
    }

    /// <summary>Makes a call. A call that has only one attempt goes straight to the channel.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ValueTask<TReply> InvokeAsync<TWait, TReply>(
        IChannelSource source, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode => HasOneAttempt(source, call)
            ? ((IRpcChannel)source).InvokeAsync<TWait, TReply>(call, request, read, cancellation)
            : RepeatAsync<TWait, TReply>(source, call, request, read, cancellation);

    /// <summary>Makes a call whose request is read from a stream. The time applies to each part. It is only
    /// repeated if the stream can seek back.</summary>
    public ValueTask<TReply> UploadAsync<TWait, TReply>(
        IChannelSource source, CallSpec call, Stream request, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        if (HasOneAttempt(source, call, request.CanSeek))
        {
            return ((IRpcChannel)source).UploadAsync<TWait, TReply>(call, request, read, cancellation);
        }

        long? start = request.CanSeek ? request.Position : null;
        CallAttempts attempts = Start(
            source, call, cancellation, canRepeat: start is not null, sharesTime: false);
        return attempts.RunAsync<TWait, TReply>(() =>
        {
            if (start is { } position)
            {
                request.Position = position;
            }

            return attempts.Channel.UploadAsync<TWait, TReply>(
                call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    /// <summary>Begins a streaming call. A stream of requests is not repeated, because the messages that were
    /// sent are not kept.</summary>
    public IRpcStream Open(IChannelSource source, CallSpec call, CancellationToken cancellation) =>
        HasOneAttempt(source, call, canRepeat: !call.Method.IsClientStreaming)
            ? ((IRpcChannel)source).Open(call, cancellation)
            : OpenRepeated(source, call, cancellation);

    /// <summary>Starts the attempts to connect, which have no time limit of their own.</summary>
    /// <param name="source">The channels; null if there are none.</param>
    /// <param name="cancellation">Cancels connecting.</param>
    public CallAttempts StartConnecting(IChannelSource? source, CancellationToken cancellation) =>
        new(this, source, CallClock.Start(Timeout.InfiniteTimeSpan, cancellation));

    /// <summary>Starts the attempts of a call that is not retried: one for each server, until one is
    /// reached.</summary>
    /// <param name="source">The channels.</param>
    /// <param name="timeout">The time for all attempts.</param>
    /// <param name="cancellation">Cancels the call.</param>
    public CallAttempts StartOnce(
        IChannelSource source, TimeSpan timeout, CancellationToken cancellation) =>
        new(this, source, CallClock.Start(timeout, cancellation)) { Retries = 0 };

    /// <summary>The number of retries of a call.</summary>
    public int RetriesOf(RpcCallOptions? options) => options?.RetryCount ?? Retries;

    private bool HasOneAttempt(IChannelSource source, CallSpec call, bool canRepeat = true) =>
        source is not BackendPicker
        && !(canRepeat && (RetriesOf(call.Options) > 0 || call.Options is { WaitForReady: true }));

    private CallAttempts Start(
        IChannelSource source, CallSpec call, CancellationToken cancellation, bool canRepeat = true,
        bool sharesTime = true) =>
        new(this, source, call.Clock.For(cancellation))
        {
            Retries = RetriesOf(call.Options),
            Waits = call.Options is { WaitForReady: true },
            Info = call.Options?.ReplyInfo,
            Method = call.Method.FullName,
            CanRepeat = canRepeat,
            SharesTime = sharesTime,
        };

    // Methods of their own, so that a call that has only one attempt allocates no closure.
    private async ValueTask<TReply> RepeatAsync<TWait, TReply>(
        IChannelSource source, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TWait : struct, IWaitMode
    {
        using ReplayBuffer replay = new();
        CallSpec repeated = call with { Replay = replay };
        CallAttempts attempts = Start(source, call, cancellation);
        return await attempts.RunAsync<TWait, TReply>(
            () => attempts.Channel.InvokeAsync<TWait, TReply>(
                attempts.Shared(repeated), request, read, cancellation))
            .ConfigureAwait(false);
    }

    private RepeatedStream OpenRepeated(
        IChannelSource source, CallSpec call, CancellationToken cancellation)
    {
        bool isKept = !call.Method.IsClientStreaming;
        ReplayBuffer? replay = isKept ? new() : null;
        CallSpec repeated = call with { Replay = replay };
        CallAttempts attempts = Start(source, call, cancellation, isKept);
        Func<IRpcStream> open = () => attempts.Channel.Open(attempts.Shared(repeated), cancellation);
        return new RepeatedStream(
            attempts.Open(open), failure => attempts.OpenNextAsync(failure, open), replay)
        {
            Began = attempts.Succeed,
            Server = () => attempts.Endpoint,
        };
    }
}
