using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Balancing;

/// <summary>One channel for several servers of the same kind. A call that did not reach a server goes to the
/// next one; a call that may have run is never repeated.</summary>
internal sealed class BalancedChannel : IRpcChannel
{
    // An attempt may time out slightly before its deadline, so less than this remaining time counts as none.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(20);

    private readonly RpcLoadBalancing _policy;
    private readonly TimeSpan _connectTimeout;
    private readonly BackendList _servers;
    private Backend? _chosen;
    private RpcCallContext _context = new();
    private int _next = -1;

    /// <param name="policy">Selects the server of a call.</param>
    /// <param name="resolver">Finds the servers.</param>
    /// <param name="connectTimeout">The longest time that a call waits for the first lookup.</param>
    /// <param name="create">Creates a channel to a server. The channel connects with its first call, so that
    /// connecting counts toward the time of that call and does not delay others.</param>
    public BalancedChannel(
        RpcLoadBalancing policy, AddressResolver resolver, TimeSpan connectTimeout,
        Func<ResolvedEndpoint, IRpcChannel> create)
    {
        _policy = policy;
        _connectTimeout = connectTimeout;
        _servers = new(resolver, connectTimeout, create);
    }

    /// <summary>The initial side channel of calls to servers that have not answered yet. Each server then has
    /// its own, because a session belongs to one server.</summary>
    public RpcCallContext Context
    {
        get => _servers.Known().Select(backend => backend.Opened?.Context).FirstOrDefault(
            context => context is not null)
            ?? _context;
        set
        {
            _context = value;
            foreach (Backend backend in _servers.All())
            {
                if (backend.Opened is { } channel)
                {
                    channel.Context = value;
                }
            }
        }
    }

    /// <summary>Connects to one of the servers, so that an error is reported now if none can be
    /// reached.</summary>
    /// <exception cref="RpcException">Unavailable, with the failure of each server.</exception>
    public void Connect(CancellationToken cancellation) => Try(Connecting(cancellation), channel =>
    {
        channel.Connect(cancellation);
        return true;
    });

    /// <inheritdoc cref="Connect"/>
    public Task ConnectAsync(CancellationToken cancellation) => TryAsync(
        Connecting(cancellation), async channel =>
    {
        await channel.ConnectAsync(cancellation).ConfigureAwait(false);
        return true;
    });

    public TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        using ReplayBuffer replay = new();
        CallSpec repeated = Replayable(call, replay);
        return Try(
            Candidates(call.Clock.For(cancellation)), failures,
            backend => Open(backend, call.Clock, failures).Invoke(repeated, request, read, cancellation));
    }

    public async Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        using ReplayBuffer replay = new();
        CallSpec repeated = Replayable(call, replay);
        return await TryAsync(
            await CandidatesAsync(call.Clock.For(cancellation)).ConfigureAwait(false), failures,
            async backend => await Open(backend, call.Clock, failures)
                .InvokeAsync(repeated, request, read, cancellation)
                .ConfigureAwait(false))
            .ConfigureAwait(false);
    }

    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        CallClock clock = call.Clock.For(cancellation);
        if (!request.CanSeek)
        {
            // Not retried: the consumed part of the stream cannot be sent to another server.
            return Open(Candidates(clock).Peek()).Upload(call, request, read, cancellation);
        }

        long start = request.Position;
        return Try(clock, channel =>
        {
            request.Position = start;
            return channel.Upload(call, request, read, cancellation);
        });
    }

    public async Task<TReply> UploadAsync<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        CallClock clock = call.Clock.For(cancellation);
        if (!request.CanSeek)
        {
            // Not retried: the consumed part of the stream cannot be sent to another server.
            Queue<Backend> left = await CandidatesAsync(clock).ConfigureAwait(false);
            return await Open(left.Peek()).UploadAsync(call, request, read, cancellation)
                .ConfigureAwait(false);
        }

        long start = request.Position;
        return await TryAsync(clock, channel =>
        {
            request.Position = start;
            return channel.UploadAsync(call, request, read, cancellation);
        }).ConfigureAwait(false);
    }

    public IRpcStream Open(CallSpec call, CancellationToken cancellation)
    {
        Queue<Backend> left = Candidates(call.Clock.For(cancellation));
        List<RpcException> failures = [];
        Backend? backend = null;
        ReplayBuffer? replay = call.Method.IsClientStreaming ? null : new ReplayBuffer();
        CallSpec repeated = Replayable(call, replay);
        return new RepeatedStream(
            OpenNext(),
            failure =>
            {
                if (CallErrors.IsBusy(failure))
                {
                    return ValueTask.FromResult<IRpcStream?>(null);
                }

                GiveUp(backend!, failure, failures);

                // A stream of requests cannot be retried, because the messages that were sent are not kept.
                return ValueTask.FromResult(call.Method.IsClientStreaming ? null : OpenNext());
            },
            replay)
        {
            Began = () => Succeeded(backend!),
        };

        // Opening a stream does not connect, so it says nothing about the server.
        IRpcStream OpenNext()
        {
            while (left.TryDequeue(out backend))
            {
                try
                {
                    return Open(backend, call.Clock, failures).Open(repeated, cancellation);
                }
                catch (RpcException e) when (CallErrors.IsUnreached(e))
                {
                    GiveUp(backend, e, failures);
                }
            }

            throw NoneReached(failures);
        }
    }

    public RpcSchema FetchSchema(CancellationToken cancellation) =>
        Try(Connecting(cancellation), channel => channel.FetchSchema(cancellation));

    public Task<RpcSchema> FetchSchemaAsync(CancellationToken cancellation) =>
        TryAsync(Connecting(cancellation), channel => channel.FetchSchemaAsync(cancellation));

    public RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        Try(Connecting(cancellation), channel => channel.FetchSchema(services, cancellation));

    public Task<RpcSchema?> FetchSchemaAsync(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        TryAsync(Connecting(cancellation), channel => channel.FetchSchemaAsync(services, cancellation));

    public RpcPingResult Ping(PingSpec ping, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        CallClock clock = CallClock.Start(ping.Timeout, cancellation);
        return Try(
            Candidates(clock), failures,
            backend => Open(backend, clock, failures)
                .Ping(ping with { Timeout = clock.Left }, cancellation));
    }

    public async Task<RpcPingResult> PingAsync(PingSpec ping, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        CallClock clock = CallClock.Start(ping.Timeout, cancellation);
        return await TryAsync(
            await CandidatesAsync(clock).ConfigureAwait(false), failures,
            async backend => await Open(backend, clock, failures)
                .PingAsync(ping with { Timeout = clock.Left }, cancellation).ConfigureAwait(false))
            .ConfigureAwait(false);
    }

    public void Dispose() => _servers.Dispose();

    private static RpcException OutOfTime(TimeSpan timeout, List<RpcException> failures) => new(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.NoServerReached,
        $"No server was reached within {timeout.TotalSeconds:0.###} s. "
        + string.Join(' ', failures.Select(failure => failure.Message)), failures[0]);

    private CallClock Connecting(CancellationToken cancellation) =>
        CallClock.Start(_connectTimeout, cancellation);

    private TResult Try<TResult>(CallClock clock, Func<IRpcChannel, TResult> call) =>
        Try(Candidates(clock), [], backend => call(Open(backend)));

    private async Task<TResult> TryAsync<TResult>(
        CallClock clock, Func<IRpcChannel, Task<TResult>> call) => await TryAsync(
            await CandidatesAsync(clock).ConfigureAwait(false), [],
            async backend => await call(Open(backend)).ConfigureAwait(false)).ConfigureAwait(false);

    // The callback completes synchronously, so the call runs on the caller's thread and has ended when this
    // returns.
    private TResult Try<TResult>(
        Queue<Backend> left, List<RpcException> failures, Func<Backend, TResult> call) =>
        TryAsync(left, failures, backend => ValueTask.FromResult(call(backend))).GetAwaiter().GetResult();

    private async ValueTask<TResult> TryAsync<TResult>(
        Queue<Backend> left, List<RpcException> failures, Func<Backend, ValueTask<TResult>> call)
    {
        while (left.TryDequeue(out Backend? backend))
        {
            try
            {
                TResult result = await call(backend).ConfigureAwait(false);
                Succeeded(backend);
                return result;
            }
            catch (RpcException e) when (CallErrors.IsUnreached(e))
            {
                GiveUp(backend, e, failures);
            }
        }

        throw NoneReached(failures);
    }

    // Another server is only tried if there is time left.
    private IRpcChannel Open(Backend backend, CallClock clock, List<RpcException> failures) =>
        failures.Count > 0 && !clock.IsEndless && clock.Left <= LeastTime
            ? throw OutOfTime(clock.Timeout, failures)
            : Open(backend);

    private IRpcChannel Open(Backend backend) => backend.Opened ?? backend.Open(_context);

    // If the call is retried anyway, the code that retries it keeps the request.
    private static CallSpec Replayable(CallSpec call, ReplayBuffer? replay) =>
        call.Replay is null ? call with { Replay = replay } : call;

    private void Succeeded(Backend backend)
    {
        backend.Succeeded();
        _chosen = backend;
    }

    private void GiveUp(Backend backend, RpcException failure, List<RpcException> failures)
    {
        backend.Failed();
        _servers.Hurry();
        failures.Add(failure);
    }

    private static RpcException NoneReached(List<RpcException> failures) => failures.Count == 1
        ? failures[0]
        : new RpcException(
            RpcStatusCode.Unavailable, RpcErrorIds.NoServerReached,
            $"None of {failures.Count} servers can be reached. "
            + string.Join(' ', failures.Select(failure => failure.Message)), failures[0]);

    private Queue<Backend> Candidates(CallClock clock) => InOrder(_servers.Get(clock));

    private async ValueTask<Queue<Backend>> CandidatesAsync(CallClock clock) =>
        InOrder(await _servers.GetAsync(clock).ConfigureAwait(false));

    // Resting servers come last, and are used only if no other server can be reached.
    private Queue<Backend> InOrder(Backend[] all)
    {
        if (_policy == RpcLoadBalancing.PickFirst)
        {
            return new(all.OrderBy(backend => !backend.IsWorthTrying).ThenBy(backend => backend != _chosen));
        }

        int first = (int)((uint)Interlocked.Increment(ref _next) % (uint)all.Length);
        return new(all[first..].Concat(all[..first]).OrderBy(backend => !backend.IsWorthTrying));
    }
}

/// <summary>The servers of a client, as the name server last told. The first lookup is waited for, and later
/// ones run in the background, so that no call waits for a slow name server.</summary>
internal sealed class BackendList : IDisposable
{
    // Servers that are no longer in DNS may still be answering calls. The connections to this many servers
    // are kept.
    private const int MostKnown = 64;

    private readonly AddressResolver _resolver;
    private readonly TimeSpan _connectTimeout;
    private readonly Func<ResolvedEndpoint, IRpcChannel> _create;
    private readonly Lock _gate = new();
    private readonly Dictionary<ResolvedEndpoint, Backend> _known = [];
    private Backend[] _backends = [];
    private Task? _resolving;
    private bool _disposed;

    /// <param name="resolver">Finds the servers.</param>
    /// <param name="connectTimeout">The longest time that a call waits for the first lookup.</param>
    /// <param name="create">Creates a channel to a server.</param>
    public BackendList(
        AddressResolver resolver, TimeSpan connectTimeout, Func<ResolvedEndpoint, IRpcChannel> create)
    {
        _resolver = resolver;
        _connectTimeout = connectTimeout;
        _create = create;
    }

    /// <summary>The servers. Waits for the first lookup within the time of a call.</summary>
    /// <exception cref="RpcException">DeadlineExceeded or Cancelled.</exception>
    public Backend[] Get(CallClock clock)
    {
        (Backend[] known, Task? first) = Look();
        if (first is null)
        {
            return known;
        }

        CallClock waiting = clock.Within(_connectTimeout);
        try
        {
            HostLookup.Wait(first, waiting, () => _resolver.Pending);
        }
        catch (OperationCanceledException e)
        {
            throw GivenUp(waiting, e);
        }

        first.GetAwaiter().GetResult();
        return Known();
    }

    /// <inheritdoc cref="Get"/>
    public async ValueTask<Backend[]> GetAsync(CallClock clock)
    {
        (Backend[] known, Task? first) = Look();
        if (first is null)
        {
            return known;
        }

        CallClock waiting = clock.Within(_connectTimeout);
        try
        {
            await HostLookup.WaitAsync(first, waiting, () => _resolver.Pending).ConfigureAwait(false);
        }
        catch (OperationCanceledException e)
        {
            throw GivenUp(waiting, e);
        }

        return Known();
    }

    /// <summary>The servers that are known now, without a lookup.</summary>
    public Backend[] Known()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            return _backends;
        }
    }

    /// <summary>The servers that are known now, and those that the name server does not tell any more but may
    /// tell again.</summary>
    public Backend[] All()
    {
        lock (_gate)
        {
            return [.. _known.Values];
        }
    }

    /// <summary>Makes the next call look up again, because a server failed.</summary>
    public void Hurry() => _resolver.Hurry();

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            foreach (Backend backend in _known.Values)
            {
                backend.Dispose();
            }
        }
    }

    private RpcException GivenUp(CallClock waiting, OperationCanceledException e) =>
        EndpointErrors.ConnectGivenUp(_resolver.First, waiting.Timeout, e, waiting.Caller);

    // The servers, or the lookup to wait for while none is known. It runs without the gate, so that disposing
    // does not wait for it.
    private (Backend[] Known, Task? First) Look()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (_backends.Length == 0 || _resolver.IsDue)
            {
                _resolving ??= Task.Factory.StartNew(
                    Resolve, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
            }

            return (_backends, _backends.Length == 0 ? _resolving : null);
        }
    }

    private void Resolve()
    {
        IReadOnlyList<ResolvedEndpoint> resolved = [];
        try
        {
            resolved = _resolver.Resolve();
        }
        finally
        {
            lock (_gate)
            {
                _resolving = null;
                if (!_disposed && resolved.Count > 0)
                {
                    Update(resolved);
                }
            }
        }
    }

    private void Update(IReadOnlyList<ResolvedEndpoint> resolved)
    {
        foreach (ResolvedEndpoint one in resolved)
        {
            if (!_known.ContainsKey(one))
            {
                _known[one] = new Backend(one, _create);
            }
        }

        _backends = [.. resolved.Select(one => _known[one])];
        foreach (Backend gone in _known.Values.Except(_backends).Take(_known.Count - MostKnown).ToArray())
        {
            _known.Remove(gone.Resolved);
            gone.Dispose();
        }
    }
}
