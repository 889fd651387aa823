using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;
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
    public static bool Covers(RpcException failure) =>
        CallErrors.IsUnreached(failure) || CallErrors.IsBusy(failure);

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

    /// <summary>Connects a channel.</summary>
    public void Connect(IRpcChannel channel, CancellationToken cancellation) =>
        StartConnecting(cancellation).Run(() =>
        {
            channel.Connect(cancellation);
            return true;
        });

    /// <inheritdoc cref="Connect"/>
    public Task ConnectAsync(IRpcChannel channel, CancellationToken cancellation) =>
        StartConnecting(cancellation).RunAsync(async () =>
        {
            await channel.ConnectAsync(cancellation).ConfigureAwait(false);
            return true;
        });

    /// <summary>Makes a call and blocks until the reply. A call that is not retried goes straight to the
    /// channel.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public TReply Invoke<TReply>(
        IRpcChannel channel, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation) => Repeats(call)
            ? Repeat(channel, call, request, read, cancellation)
            : channel.Invoke(call, request, read, cancellation);

    /// <summary>Makes a call without blocking a thread.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Task<TReply> InvokeAsync<TReply>(
        IRpcChannel channel, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation) => Repeats(call)
            ? RepeatAsync(channel, call, request, read, cancellation)
            : channel.InvokeAsync(call, request, read, cancellation);

    /// <summary>Makes a call whose request is read from a stream. The time applies to each part. It is only
    /// retried if the stream can seek back.</summary>
    public TReply Upload<TReply>(
        IRpcChannel channel, CallSpec call, Stream request, ReplyReader<TReply> read,
        CancellationToken cancellation)
    {
        if (!Repeats(call) || !request.CanSeek)
        {
            return channel.Upload(call, request, read, cancellation);
        }

        long start = request.Position;
        return Start(call, cancellation).Run(() =>
        {
            request.Position = start;
            return channel.Upload(call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    /// <inheritdoc cref="Upload"/>
    public Task<TReply> UploadAsync<TReply>(
        IRpcChannel channel, CallSpec call, Stream request, ReplyReader<TReply> read,
        CancellationToken cancellation)
    {
        if (!Repeats(call) || !request.CanSeek)
        {
            return channel.UploadAsync(call, request, read, cancellation);
        }

        long start = request.Position;
        return Start(call, cancellation).RunAsync(() =>
        {
            request.Position = start;
            return channel.UploadAsync(
                call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    /// <summary>Begins a streaming call. A stream of requests is not retried, because the messages that were
    /// sent are not kept.</summary>
    public IRpcStream Open(IRpcChannel channel, CallSpec call, CancellationToken cancellation) =>
        !Repeats(call) || call.Method.IsClientStreaming
            ? channel.Open(call, cancellation)
            : OpenRepeated(channel, call, cancellation);

    /// <summary>Starts the attempts of a call.</summary>
    /// <param name="clock">The time for all attempts, including pauses.</param>
    /// <param name="waits">Whether to retry an unreachable server until the time is over.</param>
    /// <param name="info">Counts the retries; null for none.</param>
    /// <param name="method">The called method, for the log; null while connecting.</param>
    public CallRetries Start(
        CallClock clock, bool waits, RpcReplyInfo? info = null, string? method = null) =>
        new(this, waits, clock, info, method);

    /// <summary>Starts the attempts to connect, which have no time limit of their own.</summary>
    public CallRetries StartConnecting(CancellationToken cancellation) =>
        Start(CallClock.Start(Timeout.InfiniteTimeSpan, cancellation), waits: false);

    private bool Repeats(CallSpec call) => Retries > 0 || Waits(call);

    private static bool Waits(CallSpec call) => call.Options is { WaitForReady: true };

    private CallRetries Start(CallSpec call, CancellationToken cancellation) => Start(
        call.Clock.For(cancellation), Waits(call), call.Options?.ReplyInfo, call.Method.FullName);

    // Methods of their own, so that a call that is not retried allocates no closure.
    private TReply Repeat<TReply>(
        IRpcChannel channel, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation)
    {
        using ReplayBuffer replay = new();
        CallSpec repeated = call with { Replay = replay };
        return Start(call, cancellation).Run(() => channel.Invoke(repeated, request, read, cancellation));
    }

    private async Task<TReply> RepeatAsync<TReply>(
        IRpcChannel channel, CallSpec call, IMessage request, ReplyReader<TReply> read,
        CancellationToken cancellation)
    {
        using ReplayBuffer replay = new();
        CallSpec repeated = call with { Replay = replay };
        return await Start(call, cancellation)
            .RunAsync(() => channel.InvokeAsync(repeated, request, read, cancellation))
            .ConfigureAwait(false);
    }

    private RepeatedStream OpenRepeated(IRpcChannel channel, CallSpec call, CancellationToken cancellation)
    {
        CallRetries retries = Start(call, cancellation);
        ReplayBuffer replay = new();
        CallSpec repeated = call with { Replay = replay };
        return new RepeatedStream(
            channel.Open(repeated, cancellation),
            async failure =>
            {
                await retries.WaitAsync(failure).ConfigureAwait(false);
                return channel.Open(repeated, cancellation);
            },
            replay);
    }
}

/// <summary>The attempts of one call.</summary>
/// <param name="policy">The rules.</param>
/// <param name="waits">Whether to retry an unreachable server until the time is over.</param>
/// <param name="clock">The time for all attempts, including pauses.</param>
/// <param name="info">Counts the retries; null for none.</param>
/// <param name="method">The called method; null while connecting.</param>
internal sealed class CallRetries(
    RetryPolicy policy, bool waits, CallClock clock, RpcReplyInfo? info, string? method)
{
    private RpcException? _last;
    private int _made;
    private int _failed;

    /// <summary>Runs a call, and retries it with growing pauses, within the number of retries and the
    /// time.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public TReply Run<TReply>(Func<TReply> call) =>
        BlockingWait.End(RunAsync<BlockingWait, TReply>(() => new(call())));

    /// <summary>Runs a call like <see cref="Run"/>, without blocking a thread.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public Task<TReply> RunAsync<TReply>(Func<Task<TReply>> call) =>
        RunAsync<AsyncWait, TReply>(() => new(call())).AsTask();

    /// <summary>Blocks until the next attempt.</summary>
    /// <exception cref="RpcException">There is no further attempt: the failure.</exception>
    public void Wait(RpcException failure) => BlockingWait.End(WaitAsync<BlockingWait>(failure));

    /// <summary>Waits for the next try.</summary>
    /// <exception cref="RpcException">There is no further attempt: the failure.</exception>
    public ValueTask WaitAsync(RpcException failure) => WaitAsync<AsyncWait>(failure);

    private async ValueTask<TReply> RunAsync<TWait, TReply>(Func<ValueTask<TReply>> call)
        where TWait : struct, IWaitMode
    {
        while (true)
        {
            try
            {
                return await call().ConfigureAwait(false);
            }
            catch (RpcException e)
            {
                await WaitAsync<TWait>(e).ConfigureAwait(false);
            }
        }
    }

    private async ValueTask WaitAsync<TWait>(RpcException failure)
        where TWait : struct, IWaitMode
    {
        try
        {
            await TWait.PauseAsync(NextPause(failure), clock.Caller).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw CallErrors.Cancelled(policy.Endpoint, sent: false);
        }
    }

    private TimeSpan NextPause(RpcException failure)
    {
        bool isAwaited = waits && CallErrors.IsAbsent(failure);
        if (!RetryPolicy.Covers(failure)
            || (!isAwaited && _made >= policy.Retries)
            || !RetryPolicy.HasTime(clock, failure.RetryAfter))
        {
            Fail(failure);
        }

        // The caller cancelled during the pause before another attempt.
        if (clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.Cancelled(policy.Endpoint, sent: false);
        }

        _last = failure;
        if (info is not null)
        {
            info.Retries++;
        }

        _made += isAwaited ? 0 : 1;
        TimeSpan pause = RetryPolicy.Pause(clock, _failed, waits, failure.RetryAfter);
        policy.Log?.Retry(method, policy.Endpoint, ++_failed, failure, pause);
        return pause;
    }

    // The last attempt had only a part of the time, so its timeout says less than the earlier failures.
    [DoesNotReturn]
    private void Fail(RpcException failure)
    {
        bool isLate = !failure.MayHaveExecuted && (failure.Code == RpcStatusCode.DeadlineExceeded
            || (waits && CallErrors.IsAbsent(failure)));
        if (isLate && (waits || _last is not null) && !clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.NotReached(policy.Endpoint, clock.Timeout, _last ?? failure);
        }

        ExceptionDispatchInfo.Throw(failure);
    }
}

/// <summary>A streaming call that is retried, on the same or another server, as long as the server cannot
/// have run it. Once a part of the reply has arrived, it is not retried.</summary>
/// <param name="first">The first attempt.</param>
/// <param name="next">Returns the next attempt, or null to throw the failure.</param>
/// <param name="replay">Keeps the request for retries; null if another object keeps it, or if the call is not
/// retried.</param>
internal sealed class RepeatedStream(
    IRpcStream first, Func<RpcException, ValueTask<IRpcStream?>> next, ReplayBuffer? replay = null)
    : IRpcStream
{
    private readonly Lock _gate = new();
    private IRpcStream _current = first;
    private IMessage? _sent;
    private bool _compress;
    private bool _completed;
    private bool _began;
    private bool _disposed;

    /// <summary>Called when a server has begun to reply; null for nothing.</summary>
    public Action? Began { get; init; }

    /// <inheritdoc/>
    public ReplyBody Current => _current.Current;

    /// <inheritdoc/>
    public ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        lock (_gate)
        {
            // The single request of a method that takes one. Requests of a stream are not kept; next returns
            // null for them.
            _sent ??= _began ? null : message;
            _compress = compress;
            return _current.SendAsync(message, compress);
        }
    }

    /// <inheritdoc/>
    public ValueTask CompleteAsync()
    {
        lock (_gate)
        {
            _completed = true;
            return _current.CompleteAsync();
        }
    }

    /// <inheritdoc/>
    public ValueTask<bool> ReadAsync() => _began ? _current.ReadAsync() : BeginAsync();

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        lock (_gate)
        {
            _disposed = true;
            replay?.Dispose();
            return _current.DisposeAsync();
        }
    }

    private async ValueTask<bool> BeginAsync()
    {
        while (true)
        {
            try
            {
                bool any = await _current.ReadAsync().ConfigureAwait(false);
                _began = true;
                _sent = null;
                replay?.Dispose();
                Began?.Invoke();
                return any;
            }
            catch (RpcException e) when (RetryPolicy.Covers(e))
            {
                if (_disposed || await next(e).ConfigureAwait(false) is not { } again)
                {
                    throw;
                }

                if (!await GoOnWithAsync(again).ConfigureAwait(false))
                {
                    throw;
                }
            }
        }
    }

    // Returns false if the call was cancelled meanwhile. The new attempt has then sent no message.
    private async ValueTask<bool> GoOnWithAsync(IRpcStream again)
    {
        IRpcStream failed = _current;
        ValueTask<bool> sending = new(true);
        bool disposed;
        lock (_gate)
        {
            disposed = _disposed;
            if (!disposed)
            {
                _current = again;
                if (_sent is { } message)
                {
                    sending = again.SendAsync(message, _compress);
                }
            }
        }

        if (disposed)
        {
            await again.DisposeAsync().ConfigureAwait(false);
            return false;
        }

        await failed.DisposeAsync().ConfigureAwait(false);
        if (await sending.ConfigureAwait(false) && _completed)
        {
            await again.CompleteAsync().ConfigureAwait(false);
        }

        return true;
    }
}

/// <summary>The encoded request of a call. The first attempt encodes it, and retries send it again.</summary>
/// <remarks>Thread-safe, because an abandoned attempt may still be sending. Disposing returns pooled
/// memory.</remarks>
internal sealed class ReplayBuffer : IDisposable
{
    private const string What = "request";

    private readonly Lock _gate = new();
    private object? _encoded;
    private bool _disposed;

    /// <summary>Returns the request as the first attempt encoded it.</summary>
    /// <param name="replay">Keeps the request; null for a call that is not retried.</param>
    /// <param name="encode">Encodes the request. All attempts of a call use the same encoding.</param>
    public static T Encode<T>(ReplayBuffer? replay, Func<T> encode)
        where T : class => replay is null ? encode() : replay.Encode(encode);

    /// <summary>The request of a call in the binary form, for this attempt.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the request is larger than the limit.
    /// InvalidArgument: it is nested too deeply.</exception>
    public static EncodedMessage Encode(CallSpec call, IMessage request, int maxBytes) => call.Replay is null
        ? EncodedMessage.From(request, maxBytes, What)
        : call.Replay.EncodeOnce(request, maxBytes).Lend();

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            (_encoded as IDisposable)?.Dispose();
            _encoded = null;
        }
    }

    // A method of its own, so that a call without retries allocates no closure.
    private EncodedMessage EncodeOnce(IMessage request, int maxBytes) =>
        Encode(() => EncodedMessage.Keep(request, maxBytes, What));

    private T Encode<T>(Func<T> encode)
        where T : class
    {
        lock (_gate)
        {
            if (_encoded is T encoded)
            {
                return encoded;
            }

            T made = encode();
            if (!_disposed)
            {
                _encoded = made;
            }

            return made;
        }
    }
}
