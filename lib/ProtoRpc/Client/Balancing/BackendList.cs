using ProtoRpc.Transports;

namespace ProtoRpc.Client.Balancing;

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
