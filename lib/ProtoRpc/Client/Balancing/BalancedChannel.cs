using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Balancing;

/// <summary>One channel over several servers of the same kind. A call that did not reach one goes to the
/// next; a call that may have run is never repeated.</summary>
internal sealed class BalancedChannel : IRpcChannel
{
    // Servers that have left the name service may still answer calls;
    // of so many of them the connections are kept.
    private const int MostKnown = 64;

    // A try that timed out may have ended a little before the clock says so.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(20);

    private readonly RpcLoadBalancing _policy;
    private readonly AddressResolver _resolver;
    private readonly Func<ResolvedEndpoint, IRpcChannel> _create;
    private readonly Lock _gate = new();
    private readonly Dictionary<ResolvedEndpoint, Backend> _known = [];
    private Backend[] _backends = [];
    private Backend? _chosen;
    private bool _isResolving;
    private RpcCallContext _context = new();
    private int _next = -1;
    private bool _disposed;

    /// <param name="policy">Which one gets a call.</param>
    /// <param name="resolver">Which there are.</param>
    /// <param name="create">Makes a channel to one of them, which connects with its first call: within the
    /// call's time, and without holding up other calls.</param>
    public BalancedChannel(
        RpcLoadBalancing policy, AddressResolver resolver,
        Func<ResolvedEndpoint, IRpcChannel> create)
    {
        _policy = policy;
        _resolver = resolver;
        _create = create;
    }

    /// <summary>The context that calls to servers that have answered nothing yet begin with; each has its
    /// own, because sessions belong to one server.</summary>
    public RpcCallContext Context
    {
        get => Current().Select(backend => backend.Opened?.Context).FirstOrDefault(
            context => context is not null)
            ?? _context;
        set
        {
            _context = value;
            foreach (Backend backend in Current())
            {
                if (backend.Opened is { } channel)
                {
                    channel.Context = value;
                }
            }
        }
    }

    /// <summary>Reaches one of them, so that it is found out now when none is there.</summary>
    /// <exception cref="RpcException">Unavailable, with what is wrong with each.</exception>
    public void Connect(CancellationToken cancellation) => Try(channel =>
    {
        channel.Connect(cancellation);
        return true;
    });

    /// <inheritdoc cref="Connect"/>
    public Task ConnectAsync(CancellationToken cancellation) => TryAsync(async channel =>
    {
        await channel.ConnectAsync(cancellation).ConfigureAwait(false);
        return true;
    });

    public TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        using KeptRequest kept = new();
        CallSpec repeated = Keeping(call, kept);
        return Try(
            Candidates(), failures,
            backend => Open(backend, call.Clock, failures).Invoke(repeated, request, read, cancellation));
    }

    public async Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        using KeptRequest kept = new();
        CallSpec repeated = Keeping(call, kept);
        return await TryAsync(
            Candidates(), failures,
            async backend => await Open(backend, call.Clock, failures)
                .InvokeAsync(repeated, request, read, cancellation)
                .ConfigureAwait(false))
            .ConfigureAwait(false);
    }

    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!request.CanSeek)
        {
            // What was read of it cannot be sent to another.
            return Open(Candidates().Peek()).Upload(call, request, read, cancellation);
        }

        long start = request.Position;
        return Try(channel =>
        {
            request.Position = start;
            return channel.Upload(call, request, read, cancellation);
        });
    }

    public Task<TReply> UploadAsync<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!request.CanSeek)
        {
            // What was read of it cannot be sent to another.
            return Open(Candidates().Peek()).UploadAsync(call, request, read, cancellation);
        }

        long start = request.Position;
        return TryAsync(channel =>
        {
            request.Position = start;
            return channel.UploadAsync(call, request, read, cancellation);
        });
    }

    public IRpcStream Open(CallSpec call, CancellationToken cancellation)
    {
        Queue<Backend> left = Candidates();
        List<RpcException> failures = [];
        Backend? backend = null;
        KeptRequest? kept = call.Method.IsClientStreaming ? null : new KeptRequest();
        CallSpec repeated = Keeping(call, kept);
        return new RepeatedStream(
            OpenNext(),
            failure =>
            {
                GiveUp(backend!, failure, failures);

                // Of a stream of requests, those that were sent are gone.
                return ValueTask.FromResult(call.Method.IsClientStreaming ? null : OpenNext());
            },
            kept);

        IRpcStream OpenNext() => Try(left, failures, candidate =>
        {
            backend = candidate;
            return Open(candidate, call.Clock, failures).Open(repeated, cancellation);
        });
    }

    public RpcSchema FetchSchema(CancellationToken cancellation) =>
        Try(channel => channel.FetchSchema(cancellation));

    public Task<RpcSchema> FetchSchemaAsync(CancellationToken cancellation) =>
        TryAsync(channel => channel.FetchSchemaAsync(cancellation));

    public RpcSchema? FetchSchema(IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        Try(channel => channel.FetchSchema(services, cancellation));

    public Task<RpcSchema?> FetchSchemaAsync(
        IReadOnlyList<RpcServiceInfo> services, CancellationToken cancellation) =>
        TryAsync(channel => channel.FetchSchemaAsync(services, cancellation));

    public RpcPingResult Ping(PingSpec ping, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        CallClock clock = CallClock.Start(ping.Timeout);
        return Try(
            Candidates(), failures,
            backend => Open(backend, clock, failures)
                .Ping(ping with { Timeout = clock.Left }, cancellation));
    }

    public Task<RpcPingResult> PingAsync(PingSpec ping, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        CallClock clock = CallClock.Start(ping.Timeout);
        return TryAsync(
            Candidates(), failures,
            async backend => await Open(backend, clock, failures)
                .PingAsync(ping with { Timeout = clock.Left }, cancellation).ConfigureAwait(false))
            .AsTask();
    }

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

    private static RpcException OutOfTime(TimeSpan timeout, List<RpcException> failures) => new(
        RpcStatusCode.DeadlineExceeded,
        $"No server was reached within {timeout.TotalSeconds:0.###} s. "
        + string.Join(' ', failures.Select(failure => failure.Message)),
        failures[0])
    {
        ErrorId = RpcErrorIds.NoServerReached,
    };

    private TResult Try<TResult>(Func<IRpcChannel, TResult> call) =>
        Try(Candidates(), [], backend => call(Open(backend)));

    private Task<TResult> TryAsync<TResult>(Func<IRpcChannel, Task<TResult>> call) => TryAsync(
        Candidates(), [], async backend => await call(Open(backend)).ConfigureAwait(false)).AsTask();

    // Nothing waits in here, so that it has ended when it returns, on the thread of the caller.
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

    // A further try is only made if there is time for it.
    private IRpcChannel Open(Backend backend, CallClock clock, List<RpcException> failures) =>
        failures.Count > 0 && !clock.IsEndless && clock.Left <= LeastTime
            ? throw OutOfTime(clock.Timeout, failures)
            : Open(backend);

    private IRpcChannel Open(Backend backend) => backend.Opened ?? backend.Open(_context);

    // What is tried again anyway is kept by who does so.
    private static CallSpec Keeping(CallSpec call, KeptRequest? kept) =>
        call.Kept is null ? call with { Kept = kept } : call;

    private void Succeeded(Backend backend)
    {
        backend.Succeeded();
        _chosen = backend;
    }

    private void GiveUp(Backend backend, RpcException failure, List<RpcException> failures)
    {
        backend.Failed();
        _resolver.Hurry();
        failures.Add(failure);
    }

    private static RpcException NoneReached(List<RpcException> failures) => failures.Count == 1
        ? failures[0]
        : new RpcException(
            RpcStatusCode.Unavailable,
            $"None of {failures.Count} servers can be reached. "
            + string.Join(' ', failures.Select(failure => failure.Message)),
            failures[0])
        {
            ErrorId = RpcErrorIds.NoServerReached,
        };

    // Resting servers come last, for the case that no other server is reachable.
    private Queue<Backend> Candidates()
    {
        Backend[] all = Current();
        if (_policy == RpcLoadBalancing.PickFirst)
        {
            return new(all.OrderBy(backend => !backend.IsWorthTrying).ThenBy(backend => backend != _chosen));
        }

        int first = (int)((uint)Interlocked.Increment(ref _next) % (uint)all.Length);
        return new(all[first..].Concat(all[..first]).OrderBy(backend => !backend.IsWorthTrying));
    }

    private Backend[] Current()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (_backends.Length == 0)
            {
                Update(_resolver.Resolve());
            }
            else if (_resolver.IsDue && !_isResolving)
            {
                // No call waits for a name server that is slow.
                _isResolving = true;
                _ = Task.Run(Refresh);
            }

            return _backends;
        }
    }

    private void Refresh()
    {
        IReadOnlyList<ResolvedEndpoint> resolved = _resolver.Resolve();
        lock (_gate)
        {
            _isResolving = false;
            if (!_disposed)
            {
                Update(resolved);
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
