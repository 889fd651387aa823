using System.Diagnostics.CodeAnalysis;
using System.Runtime.ExceptionServices;
using ProtoRpc.Client.Balancing;
using ProtoRpc.Client.Retries;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>The attempts of one call: each picks a channel and calls it. If one of several servers is not
/// reached, the next one is called immediately. A call that no server ran is retried after a pause.</summary>
/// <param name="policy">The rules.</param>
/// <param name="source">The channels; null if there are none.</param>
/// <param name="clock">The time for all attempts, including pauses.</param>
internal sealed class CallAttempts(RetryPolicy policy, IChannelSource? source, CallClock clock)
{
    // A TLS connection to a distant server can take this long.
    private static readonly TimeSpan LeastReach = TimeSpan.FromSeconds(1);

    private IRpcChannel? _channel = source as IRpcChannel;
    private BackendPass? _pass;
    private RpcException? _last;
    private int _made;
    private int _failed;
    private int _pauses;

    /// <summary>Decides which failures are retried, and when.</summary>
    public RetryRules Rules { get; init; } = policy.Rules;

    /// <summary>The retry budget of the client; null for attempts that take nothing from it.</summary>
    public RetryBudget? Budget { get; init; } = policy.Budget;

    /// <summary>Whether to retry an unreachable server until the time is over.</summary>
    public bool Waits { get; init; }

    /// <summary>Whether another server has only the time that the earlier ones left.</summary>
    public bool SharesTime { get; init; } = true;

    /// <summary>Whether the call can be repeated after its request was sent.</summary>
    public bool CanRepeat { get; init; } = true;

    /// <summary>Counts the retries; null for none.</summary>
    public RpcReplyInfo? Info { get; init; }

    /// <summary>The called method, for the log; null while connecting.</summary>
    public string? Method { get; init; }

    /// <summary>Whether an earlier attempt may have run.</summary>
    public bool MayHaveRun { get; private set; }

    /// <summary>The channel of this attempt.</summary>
    public IRpcChannel Channel => _channel ?? throw new InvalidOperationException("There is no channel.");

    /// <summary>The time for this attempt: what earlier attempts and looking up the servers left.</summary>
    public TimeSpan Left => _pass is null ? clock.Timeout : clock.Left;

    /// <summary>The call of this attempt. While further servers are left, it has only a share of the time to
    /// reach its server.</summary>
    public CallSpec Shared(CallSpec call)
    {
        call = call with { PreviousAttempts = _made };
        if (_pass is not { Remaining: > 0 and var others } || clock.IsEndless)
        {
            return call;
        }

        TimeSpan share = clock.Left / (others + 1);
        return call with { Clock = call.Clock with { Reach = share > LeastReach ? share : LeastReach } };
    }

    /// <summary>Runs a call, and retries it with growing pauses, within the number of retries and the
    /// time.</summary>
    /// <exception cref="RpcException">The failure of the last attempt.</exception>
    public async ValueTask<TReply> RunAsync<TWait, TReply>(Func<ValueTask<TReply>> call)
        where TWait : struct, IWaitMode
    {
        while (true)
        {
            try
            {
                await PickAsync<TWait>().ConfigureAwait(false);
                TReply reply = await call().ConfigureAwait(false);
                Succeed();
                return reply;
            }
            catch (RpcException e)
            {
                await WaitAsync<TWait>(e).ConfigureAwait(false);
            }
            catch (OperationCanceledException e)
                when (_failed > 0 && clock.Caller.IsCancellationRequested)
            {
                throw Cancelled(e);
            }
        }
    }

    /// <summary>Begins a stream at a server. Beginning does not wait for the server, so there are no
    /// retries.</summary>
    /// <exception cref="RpcException">The call cannot begin.</exception>
    public IRpcStream Open(Func<IRpcStream> open)
    {
        while (true)
        {
            try
            {
                BlockingWait.End(PickAsync<BlockingWait>());
                return open();
            }
            catch (RpcException e)
            {
                if (EndPass(e) is { } failure)
                {
                    ExceptionDispatchInfo.Throw(failure);
                }
            }
        }
    }

    /// <summary>Begins a stream again after a failure, at the next server or after a pause.</summary>
    /// <exception cref="RpcException">There is no further attempt: the failure.</exception>
    public async ValueTask<IRpcStream> OpenNextAsync(RpcException failure, Func<IRpcStream> open)
    {
        await WaitAsync<AsyncWait>(failure).ConfigureAwait(false);
        try
        {
            return Open(open);
        }
        catch (RpcException e)
        {
            Describe(e);
            throw;
        }
    }

    /// <summary>Records that the server replied.</summary>
    public void Succeed()
    {
        _pass?.Succeed();
        Budget?.Succeed();
    }

    /// <summary>Blocks until the next attempt.</summary>
    /// <exception cref="RpcException">There is no further attempt: the failure.</exception>
    public void Wait(RpcException failure) => BlockingWait.End(WaitAsync<BlockingWait>(failure));

    /// <summary>The server of the last attempt, if there are several; otherwise null.</summary>
    public RpcEndpoint? Endpoint { get; private set; }

    private async ValueTask PickAsync<TWait>()
        where TWait : struct, IWaitMode
    {
        if (source is BackendPicker picker)
        {
            _pass ??= await picker.BeginAsync<TWait>(clock).ConfigureAwait(false);
            _channel = _pass.Next(SharesTime ? clock : null);
            Endpoint = _pass.Endpoint;
            if (Info is not null)
            {
                Info.Endpoint = Endpoint;
            }
        }
    }

    // Null if the next server can be called now.
    private RpcException? EndPass(RpcException failure)
    {
        if (_pass is { } pass)
        {
            failure.Endpoint ??= pass.Endpoint;
            if (pass.Fail(failure) is not { } all)
            {
                return null;
            }

            _pass = null;
            return all;
        }

        return failure;
    }

    private async ValueTask WaitAsync<TWait>(RpcException failure)
        where TWait : struct, IWaitMode
    {
        RpcException? all = EndPass(failure);
        if (!CanRepeat)
        {
            ExceptionDispatchInfo.Throw(failure);
        }

        if (all is null)
        {
            return;
        }

        try
        {
            await TWait.PauseAsync(NextPause(all), clock.Caller).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw Cancelled();
        }
    }

    private TimeSpan NextPause(RpcException failure)
    {
        RetryDecision decision = Rules.Decide(failure, _made, _pauses, clock.Left, Waits, Budget);
        if (decision.Pause is null)
        {
            if (decision.Reason is { } reason)
            {
                policy.Log?.EndRetries(Method, policy.Endpoint, _failed + 1, failure, reason);
            }

            Fail(failure);
        }

        TimeSpan pause = decision.Pause.Value;

        // The caller cancelled during the pause before another attempt.
        MayHaveRun |= failure.MayHaveExecuted;
        if (clock.Caller.IsCancellationRequested)
        {
            throw Cancelled();
        }

        _last = failure;
        if (Info is not null)
        {
            // Headers and trailers of a failed attempt must not be mixed with those of the next.
            (Info.Headers, Info.Trailers) = (new(), new());
            Info.Retries++;
        }

        _made += decision.IsAwaited ? 0 : 1;

        // gRFC A6: after a pause that the server asked for, the own pauses begin again.
        _pauses = failure.Pushback is null ? _pauses + 1 : 0;
        _failed++;
        policy.Log?.Retry(Method, policy.Endpoint, _failed, failure, pause);
        if (policy.Trace is { IsEnabled: true } trace)
        {
            trace.Add(
                isSent: true, Endpoint ?? policy.Endpoint,
                string.Create(
                    CultureInfo.InvariantCulture,
                    $"attempt {_failed + 1} in {pause.TotalMilliseconds:0.###} ms, after {failure.Code}"));
        }

        return pause;
    }

    // The last attempt had only a part of the time, so its timeout says less than the earlier failures.
    [DoesNotReturn]
    private void Fail(RpcException failure)
    {
        bool isLate = !MayHaveRun && !failure.MayHaveExecuted
            && (failure.Code == RpcStatusCode.DeadlineExceeded
                || (Waits && RetryRules.IsAbsent(failure)));
        if (isLate && (Waits || _last is not null) && !clock.Caller.IsCancellationRequested)
        {
            failure = CallErrors.NotReached(policy.Endpoint, clock.Timeout, _last ?? failure);
        }

        Describe(failure);
        ExceptionDispatchInfo.Throw(failure);
    }

    private RpcException Cancelled(Exception? cause = null)
    {
        RpcException cancelled = CallErrors.Cancelled(policy.Endpoint, MayHaveRun, cause);
        Describe(cancelled);
        return cancelled;
    }

    // Adds what is known of all attempts to the failure of the last one.
    private void Describe(RpcException failure)
    {
        if (MayHaveRun)
        {
            failure.AddExecuted();
        }

        failure.Attempts = _failed + 1;
    }
}

/// <summary>A streaming call that is retried, on the same or another server, as long as the server cannot
/// have run it. Once a part of the reply has arrived, it is not retried.</summary>
/// <param name="first">The first attempt.</param>
/// <param name="next">Returns the next attempt, or throws the failure.</param>
/// <param name="replay">Keeps the request for retries; null if the call is not repeated.</param>
internal sealed class RepeatedStream(
    IRpcStream first, Func<RpcException, ValueTask<IRpcStream>> next, ReplayBuffer? replay = null)
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

    /// <summary>Returns the server of the last attempt, if there are several.</summary>
    public Func<RpcEndpoint?>? Server { get; init; }

    /// <inheritdoc/>
    public RpcEndpoint? Endpoint => Server?.Invoke();

    /// <inheritdoc/>
    public ReplyBody Current => _current.Current;

    /// <inheritdoc/>
    public ValueTask<bool> SendAsync(IMessage message, bool compress)
    {
        lock (_gate)
        {
            // The single request of a method that takes one. Requests of a stream are not kept; next throws
            // for them.
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
            catch (RpcException e) when (!_disposed)
            {
                // Throws the failure if it is not retried.
                if (!await GoOnAsync(await next(e).ConfigureAwait(false)).ConfigureAwait(false))
                {
                    throw;
                }
            }
        }
    }

    // Returns false if the call was cancelled meanwhile. The new attempt has then sent no message.
    private async ValueTask<bool> GoOnAsync(IRpcStream again)
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

    // A separate method, so that a call without retries allocates no closure.
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
