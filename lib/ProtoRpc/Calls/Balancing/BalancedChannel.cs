using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Schema;
using ProtoRpc.Transports;

namespace ProtoRpc.Calls.Balancing;

/// <summary>One channel over several servers of the same kind. A call that did not reach one goes to the
/// next; a call that may have run is never repeated.</summary>
internal sealed class BalancedChannel : IRpcChannel
{
    // Servers that have left the name service may still answer calls;
    // of so many of them the connections are kept.
    private const int MostKnown = 64;

    private readonly RpcLoadBalancing _policy;
    private readonly AddressResolver _resolver;
    private readonly Func<ResolvedEndpoint, CancellationToken, IRpcChannel> _open;
    private readonly Lock _gate = new();
    private readonly Dictionary<ResolvedEndpoint, Backend> _known = [];
    private Backend[] _backends = [];
    private Backend? _chosen;
    private bool _isResolving;
    private Headers.RpcCallContext _context = new();
    private int _next = -1;
    private bool _disposed;

    /// <param name="policy">Which one gets a call.</param>
    /// <param name="resolver">Which there are.</param>
    /// <param name="open">Opens a channel to one of them.</param>
    public BalancedChannel(
        RpcLoadBalancing policy, AddressResolver resolver,
        Func<ResolvedEndpoint, CancellationToken, IRpcChannel> open)
    {
        _policy = policy;
        _resolver = resolver;
        _open = open;
    }

    /// <summary>The context that calls to servers that have answered nothing yet begin with; each has its
    /// own, because sessions belong to one server.</summary>
    public Headers.RpcCallContext Context
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
    public void Connect(CancellationToken cancellation) => Try(static _ => true, cancellation);

    public TReply Invoke<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        Func<CallSpec> next = Tries(call, failures);
        return Try(Candidates(), failures, backend =>
        {
            CallSpec spec = next();
            return Open(backend, cancellation).Invoke(spec, request, read, cancellation);
        });
    }

    public Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        List<RpcException> failures = [];
        Func<CallSpec> next = Tries(call, failures);
        return TryAsync(Candidates(), failures, async backend =>
        {
            CallSpec spec = next();

            // Only connecting would hold the thread. It says itself, as an error of ours, that it was cancelled.
            IRpcChannel channel = backend.Opened
                ?? await Task.Run(() => Open(backend, cancellation), CancellationToken.None)
                    .ConfigureAwait(false);
            return await channel.InvokeAsync(spec, request, read, cancellation).ConfigureAwait(false);
        }).AsTask();
    }

    public TReply Upload<TReply>(
        CallSpec call, Stream request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        if (!request.CanSeek)
        {
            // What was read of it cannot be sent to another.
            return Open(Candidates().Peek(), cancellation).Upload(call, request, read, cancellation);
        }

        long start = request.Position;
        return Try(
            channel =>
            {
                request.Position = start;
                return channel.Upload(call, request, read, cancellation);
            },
            cancellation);
    }

    public IRpcStream Open(CallSpec call, CancellationToken cancellation)
    {
        Queue<Backend> left = Candidates();
        List<RpcException> failures = [];
        Func<CallSpec> next = Tries(call, failures);
        Backend? backend = null;
        return new RepeatedStream(OpenNext(), async failure =>
        {
            GiveUp(backend!, failure, failures);

            // Of a stream of requests, those that were sent are gone.
            return call.Method.IsClientStreaming
                ? null
                : await Task.Run(OpenNext, CancellationToken.None).ConfigureAwait(false);
        });

        IRpcStream OpenNext() => Try(left, failures, candidate =>
        {
            backend = candidate;
            CallSpec spec = next();
            return Open(candidate, cancellation).Open(spec, cancellation);
        });
    }

    public RpcSchema FetchSchema(CancellationToken cancellation) =>
        Try(channel => channel.FetchSchema(cancellation), cancellation);

    public RpcPingResult Ping(RpcServiceInfo? service, TimeSpan timeout, CancellationToken cancellation) =>
        Try(channel => channel.Ping(service, timeout, cancellation), cancellation);

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

    // One deadline for all tries: a further one has what is left of it, or is not made.
    private static Func<CallSpec> Tries(CallSpec call, List<RpcException> failures)
    {
        long start = Stopwatch.GetTimestamp();
        return () =>
        {
            if (failures.Count == 0 || call.Timeout == Timeout.InfiniteTimeSpan)
            {
                return call;
            }

            TimeSpan left = call.Timeout - Stopwatch.GetElapsedTime(start);
            return left > TimeSpan.Zero ? call with { Timeout = left } : throw OutOfTime(call, failures);
        };
    }

    private static RpcException OutOfTime(CallSpec call, List<RpcException> failures) => new(
        RpcStatusCode.DeadlineExceeded,
        $"No server was reached within {call.Timeout.TotalSeconds:0.###} s. "
        + string.Join(' ', failures.Select(failure => failure.Message)),
        failures[0])
    {
        ErrorId = "NoServerReached",
    };

    private TResult Try<TResult>(Func<IRpcChannel, TResult> call, CancellationToken cancellation) =>
        Try(Candidates(), [], backend => call(Open(backend, cancellation)));

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

    private IRpcChannel Open(Backend backend, CancellationToken cancellation)
    {
        if (backend.Opened is { } channel)
        {
            return channel;
        }

        channel = backend.Open(cancellation);
        channel.Context = _context;
        return channel;
    }

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
            ErrorId = "NoServerReached",
        };

    // Those that rest come last, in case that nobody else is there.
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
                _known[one] = new Backend(one, _open);
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
