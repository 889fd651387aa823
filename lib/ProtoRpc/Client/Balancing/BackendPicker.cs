using ProtoRpc.Client.Retries;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Balancing;

/// <summary>Picks the channel of each attempt of a client with several servers of the same kind. A call that
/// did not reach a server goes to the next one; a call that may have run is not.</summary>
internal sealed class BackendPicker : IChannelSource
{
    private readonly RpcLoadBalancing _policy;
    private readonly BackendList _servers;
    private Backend? _chosen;
    private RpcCallContext _context = new();
    private int _next = -1;

    /// <param name="policy">Selects the server of a call.</param>
    /// <param name="resolver">Finds the servers.</param>
    /// <param name="connectTimeout">The longest time that a call waits for the first lookup.</param>
    /// <param name="create">Creates a channel to a server. The channel connects with its first call, so that
    /// connecting counts toward the time of that call and does not delay others.</param>
    public BackendPicker(
        RpcLoadBalancing policy, AddressResolver resolver, TimeSpan connectTimeout,
        Func<ResolvedEndpoint, IRpcChannel> create)
    {
        _policy = policy;
        _servers = new(resolver, connectTimeout, create);
    }

    /// <summary>The initial call context for servers that have not replied yet. Each server then has its own,
    /// because a session belongs to one server.</summary>
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

    /// <summary>Begins a pass of a call over the servers. Waits for the first lookup within the time of the
    /// call.</summary>
    /// <exception cref="RpcException">DeadlineExceeded or Cancelled.</exception>
    public async ValueTask<BackendPass> BeginAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode =>
        new(this, InOrder(await _servers.GetAsync<TWait>(clock).ConfigureAwait(false)));

    /// <summary>Returns the channel of a server. This does not connect.</summary>
    public IRpcChannel Open(Backend backend) => backend.Opened ?? backend.Open(_context);

    /// <summary>Records that a server replied.</summary>
    public void Succeeded(Backend backend)
    {
        backend.Succeeded();
        _chosen = backend;
    }

    /// <summary>Records that a server could not be reached.</summary>
    public void Failed(Backend backend)
    {
        backend.Failed();
        _servers.Hurry();
    }

    public void Dispose() => _servers.Dispose();

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

/// <summary>One pass of a call over the servers, which calls each of them at most once.</summary>
/// <param name="picker">The picker.</param>
/// <param name="left">The servers in the order in which to call them.</param>
internal sealed class BackendPass(BackendPicker picker, Queue<Backend> left)
{
    // An attempt may time out slightly before its deadline, so less than this remaining time counts as none.
    private static readonly TimeSpan LeastTime = TimeSpan.FromMilliseconds(20);

    // An error lists at most this many reasons, and this many servers for each reason.
    private const int MaxReasons = 4;
    private const int MaxNamed = 4;

    private readonly List<RpcException> _failures = [];
    private Backend _backend = left.Peek();

    /// <summary>The server that was called last.</summary>
    public RpcEndpoint Endpoint => _backend.Resolved.Endpoint;

    /// <summary>The number of servers that were not called yet.</summary>
    public int Remaining => left.Count;

    /// <summary>Returns the channel of the next server.</summary>
    /// <param name="clock">The time of all attempts; null if each attempt has its own.</param>
    /// <exception cref="RpcException">DeadlineExceeded: a server was not reached, and no time is left for
    /// another one.</exception>
    public IRpcChannel Next(CallClock? clock)
    {
        if (_failures.Count > 0 && clock is { IsEndless: false } time && time.Left <= LeastTime)
        {
            throw OutOfTime(time.Timeout);
        }

        _backend = left.Dequeue();
        return picker.Open(_backend);
    }

    /// <summary>Records that the server replied.</summary>
    public void Succeed() => picker.Succeeded(_backend);

    /// <summary>Records a failed attempt.</summary>
    /// <returns>The failure of the pass; null if the next server may be called.</returns>
    public RpcException? Fail(RpcException failure)
    {
        if (!RetryRules.IsUnreached(failure))
        {
            return failure;
        }

        picker.Failed(_backend);
        _failures.Add(failure);
        return left.Count > 0 ? null
            : _failures.Count == 1 ? failure
            : Failure(RpcStatusCode.Unavailable, $"None of {_failures.Count} servers can be reached.");
    }

    private RpcException OutOfTime(TimeSpan timeout) => Failure(
        RpcStatusCode.DeadlineExceeded, $"No server was reached within {timeout.TotalSeconds:0.###} s.");

    private RpcException Failure(RpcStatusCode status, string text) => new(
        status, RpcErrorIds.NoServerReached,
        $"{text} {string.Join(' ', Reasons())}", _failures[0]);

    // Servers that failed with the same error are grouped, so that the text and its advice occur once.
    private IEnumerable<string> Reasons()
    {
        IGrouping<string, RpcException>[] groups =
        [
            .. _failures.GroupBy(failure => failure.Endpoint is { } endpoint
                ? failure.Message.Replace($"'{endpoint}'", "''", StringComparison.Ordinal)
                : failure.Message),
        ];
        foreach (IGrouping<string, RpcException> group in groups.Take(MaxReasons))
        {
            RpcEndpoint?[] others = [.. group.Skip(1).Select(failure => failure.Endpoint)];
            yield return group.First().Message + (others.Length == 0
                ? ""
                : $" The same applies to {string.Join(", ", others.Take(MaxNamed).Select(one => $"'{one}'"))}"
                    + (others.Length > MaxNamed ? $" and {others.Length - MaxNamed} more." : "."));
        }

        if (groups.Length > MaxReasons)
        {
            yield return $"{groups.Skip(MaxReasons).Sum(group => group.Count())} more failed for other "
                + "reasons.";
        }
    }
}

/// <summary>The servers of a client, from the last lookup. Calls wait for the first lookup. Later ones run in
/// the background, so that no call waits for a slow name server.</summary>
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
    public async ValueTask<Backend[]> GetAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        (Backend[] known, Task? first) = Look();
        if (first is null)
        {
            return known;
        }

        CallClock waiting = clock.Within(_connectTimeout);
        try
        {
            await HostLookup.WaitAsync<TWait>(first, waiting, () => _resolver.Pending).ConfigureAwait(false);
        }
        catch (OperationCanceledException e)
        {
            throw EndpointErrors.ConnectGivenUp(_resolver.First, waiting.Timeout, e, waiting.Caller);
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

    /// <summary>The current servers, and those that the name server no longer returns but may return
    /// again.</summary>
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
