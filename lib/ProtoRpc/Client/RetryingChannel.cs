using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>A channel that retries calls that the server cannot have run: as often as the client's options
/// say, or until the call's time is over if it waits for the server.</summary>
/// <param name="inner">The channel.</param>
/// <param name="endpoint">The endpoint, for errors.</param>
/// <param name="retries">The number of retries; 0 for none.</param>
/// <param name="log">Logs the attempts that are retried; null for none.</param>
internal sealed class RetryingChannel(
    IRpcChannel inner, RpcEndpoint endpoint, int retries, ClientLog? log = null) : IRpcChannel
{
    public RpcCallContext Context
    {
        get => inner.Context;
        set => inner.Context = value;
    }

    public void Connect(CancellationToken cancellation) =>
        Connecting(cancellation).Run(() =>
        {
            inner.Connect(cancellation);
            return true;
        });

    public Task ConnectAsync(CancellationToken cancellation) =>
        Connecting(cancellation).RunAsync(async () =>
        {
            await inner.ConnectAsync(cancellation).ConfigureAwait(false);
            return true;
        });

    public TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!IsRepeated(call))
        {
            return inner.Invoke(call, request, read, cancellation);
        }

        using ReplayBuffer kept = new();
        CallSpec repeated = call with { Kept = kept };
        return Retries(call, cancellation).Run(() => inner.Invoke(repeated, request, read, cancellation));
    }

    public Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        return IsRepeated(call)
            ? RepeatAsync()
            : inner.InvokeAsync(call, request, read, cancellation);

        async Task<TReply> RepeatAsync()
        {
            using ReplayBuffer kept = new();
            CallSpec repeated = call with { Kept = kept };
            return await Retries(call, cancellation)
                .RunAsync(() => inner.InvokeAsync(repeated, request, read, cancellation))
                .ConfigureAwait(false);
        }
    }

    // The time of an upload applies to each part. The upload is only retried if its stream can seek back.
    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!IsRepeated(call) || !request.CanSeek)
        {
            return inner.Upload(call, request, read, cancellation);
        }

        long start = request.Position;
        return Retries(call, cancellation).Run(() =>
        {
            request.Position = start;
            return inner.Upload(call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    public Task<TReply> UploadAsync<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!IsRepeated(call) || !request.CanSeek)
        {
            return inner.UploadAsync(call, request, read, cancellation);
        }

        long start = request.Position;
        return Retries(call, cancellation).RunAsync(() =>
        {
            request.Position = start;
            return inner.UploadAsync(call with { Clock = call.Clock.Again() }, request, read, cancellation);
        });
    }

    // A stream of requests is not retried, because the messages that were sent are not kept.
    public IRpcStream Open(CallSpec call, CancellationToken cancellation)
    {
        if (!IsRepeated(call) || call.Method.IsClientStreaming)
        {
            return inner.Open(call, cancellation);
        }

        CallRetries retrying = Retries(call, cancellation);
        ReplayBuffer kept = new();
        CallSpec repeated = call with { Kept = kept };
        return new RepeatedStream(
            inner.Open(repeated, cancellation),
            async failure =>
            {
                await retrying.WaitAsync(failure).ConfigureAwait(false);
                return inner.Open(repeated, cancellation);
            },
            kept);
    }

    public RpcSchema FetchSchema(CancellationToken cancellation) => inner.FetchSchema(cancellation);

    public Task<RpcSchema> FetchSchemaAsync(CancellationToken cancellation) =>
        inner.FetchSchemaAsync(cancellation);

    public RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        inner.FetchSchema(services, cancellation);

    public Task<RpcSchema?> FetchSchemaAsync(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        inner.FetchSchemaAsync(services, cancellation);

    public RpcPingResult Ping(PingSpec ping, CancellationToken cancellation) =>
        inner.Ping(ping, cancellation);

    public Task<RpcPingResult> PingAsync(PingSpec ping, CancellationToken cancellation) =>
        inner.PingAsync(ping, cancellation);

    public void Dispose() => inner.Dispose();

    public ValueTask DisposeAsync() => inner.DisposeAsync();

    private bool IsRepeated(CallSpec call) => retries > 0 || call.Options is { WaitForReady: true };

    private CallRetries Retries(CallSpec call, CancellationToken cancellation) =>
        new(endpoint, retries, call.Options is { WaitForReady: true }, call.Clock.For(cancellation),
            call.Options?.Response)
        {
            Log = log,
            Method = call.Method.FullName,
        };

    private CallRetries Connecting(CancellationToken cancellation) =>
        new(endpoint, retries, waits: false, CallClock.Start(Timeout.InfiniteTimeSpan, cancellation))
        {
            Log = log,
        };
}

/// <summary>Retries calls that the server cannot have received or has rejected before they ran, because it
/// does not serve now or is too busy, on every transport.</summary>
/// <param name="endpoint">The endpoint, for errors.</param>
/// <param name="retries">The number of retries; 0 for none.</param>
/// <param name="waits">Whether to retry an unreachable server until the time is over.</param>
/// <param name="clock">The time for all attempts, including pauses.</param>
/// <param name="info">Counts the retries; null for none.</param>
internal sealed class CallRetries(
    RpcEndpoint endpoint, int retries, bool waits, CallClock clock, RpcResponseInfo? info = null)
{
    private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(5);

    // Shorter pauses, because the caller waits for the server to start.
    private static readonly TimeSpan LongestPauseOfWaiting = TimeSpan.FromSeconds(1);

    // The longest pause that a busy server can ask for. If it asks for more, the call fails.
    private static readonly TimeSpan LongestPauseOfBusy = TimeSpan.FromMinutes(1);

    // A retry is only made if at least this much time is left.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(10);

    private TimeSpan _pause = waits ? FirstPause / 2 : FirstPause;
    private RpcException? _last;
    private int _made;
    private int _failed;

    /// <summary>Logs each attempt that is followed by another one; null for none.</summary>
    public ClientLog? Log { get; init; }

    /// <summary>The called method; null while connecting.</summary>
    public string? Method { get; init; }

    /// <summary>Runs a call, and retries it with growing pauses, within the number of retries and the
    /// time.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public TReply Run<TReply>(Func<TReply> call) => BlockingWait.End(
        RunAsync<BlockingWait, TReply>(() => ValueTask.FromResult(call())));

    /// <summary>Runs a call like <see cref="Run"/>, without blocking a thread.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public Task<TReply> RunAsync<TReply>(Func<Task<TReply>> call) =>
        RunAsync<AsyncWait, TReply>(() => new ValueTask<TReply>(call())).AsTask();

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
            throw CallErrors.Cancelled(endpoint, sent: false);
        }
    }

    private TimeSpan NextPause(RpcException failure)
    {
        bool isAwaited = waits && CallErrors.IsAbsent(failure);
        TimeSpan left = clock.Left;
        if (!(CallErrors.IsUnreached(failure) || CallErrors.IsBusy(failure))
            || IsTooLate(failure.RetryAfter, left)
            || (!isAwaited && _made >= retries)
            || (!clock.IsEndless && left < LeastTime))
        {
            Fail(failure);
        }

        // The caller cancelled during the pause before another attempt.
        if (clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.Cancelled(endpoint, sent: false);
        }

        _last = failure;
        if (info is not null)
        {
            info.Retries++;
        }

        _made += isAwaited ? 0 : 1;

        // Jitter, so that clients that failed at the same time do not all retry at the same time.
        TimeSpan pause = _pause * (0.5 + Random.Shared.NextDouble());
        TimeSpan longest = waits ? LongestPauseOfWaiting : LongestPause;
        _pause = _pause * 2 < longest ? _pause * 2 : longest;
        pause = clock.IsEndless || pause <= left / 2 ? pause : left / 2;
        pause = failure.RetryAfter is { } least && pause < least ? least + (pause / 2) : pause;
        Log?.Retry(Method, endpoint, ++_failed, failure, pause);
        return pause;
    }

    private bool IsTooLate(TimeSpan? retryAfter, TimeSpan left) =>
        retryAfter > LongestPauseOfBusy || (!clock.IsEndless && retryAfter > left - LeastTime);

    // The last attempt had only a part of the time, so its timeout says less than the earlier failures.
    [DoesNotReturn]
    private void Fail(RpcException failure)
    {
        bool isLate = !failure.MayHaveExecuted && (failure.Code == RpcStatusCode.DeadlineExceeded
            || (waits && CallErrors.IsAbsent(failure)));
        if (isLate && (waits || _last is not null) && !clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.NotReached(endpoint, clock.Timeout, _last ?? failure);
        }

        ExceptionDispatchInfo.Throw(failure);
    }
}

/// <summary>A streaming call that is retried, on the same or another server, as long as the server cannot
/// have run it. Once a part of the reply has arrived, it is not retried.</summary>
/// <param name="first">The first attempt.</param>
/// <param name="next">Returns the next attempt, or null to throw the failure.</param>
/// <param name="kept">Keeps the request for retries; null if another object keeps it, or if the call is not
/// retried.</param>
internal sealed class RepeatedStream(
    IRpcStream first, Func<RpcException, ValueTask<IRpcStream?>> next, ReplayBuffer? kept = null)
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
            kept?.Dispose();
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
                kept?.Dispose();
                Began?.Invoke();
                return any;
            }
            catch (RpcException e) when (CallErrors.IsUnreached(e) || CallErrors.IsBusy(e))
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
    /// <param name="kept">Keeps the request; null for a call that is not retried.</param>
    /// <param name="encode">Encodes the request. All attempts of a call use the same encoding.</param>
    public static T Encode<T>(ReplayBuffer? kept, Func<T> encode)
        where T : class => kept is null ? encode() : kept.Encode(encode);

    /// <summary>The request of a call in the binary form, for this attempt.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the request is larger than the limit.
    /// InvalidArgument: it is nested too deeply.</exception>
    public static EncodedMessage Encode(CallSpec call, IMessage request, int maxBytes) => call.Kept is null
        ? EncodedMessage.From(request, maxBytes, What)
        : call.Kept.Encode(() => EncodedMessage.Keep(request, maxBytes, What)).Lend();

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            (_encoded as IDisposable)?.Dispose();
            _encoded = null;
        }
    }

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
