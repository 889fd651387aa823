namespace ProtoRpc.Client.Kept;

/// <summary>Keeps clients for later calls with the same endpoint, schema, identity and options, and closes
/// idle ones. Thread-safe.</summary>
/// <param name="idleTimeout">How long an idle client is kept.</param>
/// <param name="maxIdle">How many idle clients are kept. If there are more, those that were idle longest are
/// closed.</param>
/// <param name="time">The clock.</param>
internal sealed class KeptClients(TimeSpan idleTimeout, int maxIdle, TimeProvider time) : IDisposable
{
    // A server that does not answer must not delay closing the shell.
    private static readonly TimeSpan ClosingTime = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly Dictionary<ClientKey, Entry> _entries = [];
    private ITimer? _timer;

    /// <summary>How long an idle client is kept by default.</summary>
    public static TimeSpan DefaultIdleTimeout { get; } = TimeSpan.FromMinutes(5);

    /// <summary>How many idle clients are kept by default.</summary>
    public const int DefaultMaxIdle = 64;

    /// <summary>The number of clients.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _entries.Count;
            }
        }
    }

    /// <summary>The kept client of a key, or a new one.</summary>
    /// <param name="key">The key.</param>
    /// <param name="create">Creates a client. It must not connect, because other callers wait
    /// meanwhile.</param>
    /// <exception cref="RpcException">The client cannot be created.</exception>
    public KeptClient Rent(ClientKey key, Func<RpcClient> create)
    {
        lock (_gate)
        {
            bool isKept = _entries.TryGetValue(key, out Entry? entry) && entry.Client.IsOpen;
            if (!isKept)
            {
                _entries[key] = entry = new Entry(key, create());
            }

            entry!.Users++;
            return new KeptClient(entry.Client, !isKept, () => GiveBack(entry));
        }
    }

    /// <summary>The schemas of the clients of an endpoint.</summary>
    public IReadOnlyList<RpcSchema> SchemasOf(RpcEndpoint endpoint)
    {
        lock (_gate)
        {
            return
            [
                .. _entries.Values.Where(entry => entry.Client.Endpoint.Equals(endpoint))
                    .Select(entry => entry.Client.Schema)
                    .OfType<RpcSchema>()
                    .Distinct(),
            ];
        }
    }

    /// <summary>Makes the next renters begin with an empty call context. A client with a renter is not kept
    /// any longer, because the reply that it waits for may bring a context.</summary>
    public void ForgetContexts()
    {
        lock (_gate)
        {
            Remove([.. _entries.Values.Where(entry => entry.Users > 0)]);
            foreach (Entry entry in _entries.Values)
            {
                entry.Client.ForgetContext();
            }
        }
    }

    /// <summary>Closes the idle clients. The others are closed when they are returned.</summary>
    public void Clear()
    {
        List<Entry> idle = [];
        lock (_gate)
        {
            idle.AddRange(_entries.Values.Where(entry => entry.Users == 0));
            _entries.Clear();
        }

        Close(idle);
    }

    /// <summary>Closes all clients, and fails their running calls.</summary>
    public void Dispose()
    {
        Entry[] all;
        lock (_gate)
        {
            all = [.. _entries.Values];
            _entries.Clear();
            _timer?.Dispose();
            _timer = null;
        }

        Close(all);
    }

    private static void Close(IReadOnlyCollection<Entry> entries) =>
        Task.WaitAll([.. entries.Select(entry => CloseAsync(entry.Client))], ClosingTime);

    private static Task CloseAsync(RpcClient client) => Task.Run(async () =>
    {
        try
        {
            await client.DisposeAsync().ConfigureAwait(false);
        }
        catch (RpcException)
        {
            // The server has disconnected, which does not matter when closing.
        }
    });

    private void GiveBack(Entry entry)
    {
        List<Entry> surplus = [];
        lock (_gate)
        {
            if (--entry.Users > 0)
            {
                return;
            }

            if (_entries.GetValueOrDefault(entry.Key) != entry)
            {
                surplus.Add(entry);
            }
            else
            {
                entry.IdleSince = time.GetTimestamp();
                surplus.AddRange(Idle().SkipLast(maxIdle));
                Remove(surplus);
                _timer ??= time.CreateTimer(_ => CloseIdle(), null, idleTimeout, Timeout.InfiniteTimeSpan);
            }
        }

        foreach (Entry one in surplus)
        {
            _ = CloseAsync(one.Client);
        }
    }

    private void CloseIdle()
    {
        Entry[] old;
        lock (_gate)
        {
            old = [.. Idle().TakeWhile(entry => time.GetElapsedTime(entry.IdleSince) >= idleTimeout)];
            Remove(old);
            if (Idle().FirstOrDefault() is { } next)
            {
                TimeSpan left = idleTimeout - time.GetElapsedTime(next.IdleSince);
                _timer?.Change(left > TimeSpan.Zero ? left : TimeSpan.Zero, Timeout.InfiniteTimeSpan);
            }
            else
            {
                _timer?.Dispose();
                _timer = null;
            }
        }

        foreach (Entry entry in old)
        {
            _ = CloseAsync(entry.Client);
        }
    }

    // Idle clients, those idle longest first.
    private IEnumerable<Entry> Idle() =>
        _entries.Values.Where(entry => entry.Users == 0).OrderBy(entry => entry.IdleSince);

    private void Remove(IEnumerable<Entry> entries)
    {
        foreach (Entry entry in entries)
        {
            _entries.Remove(entry.Key);
        }
    }

    private sealed class Entry(ClientKey key, RpcClient client)
    {
        public ClientKey Key => key;

        public RpcClient Client => client;

        public int Users { get; set; }

        public long IdleSince { get; set; }
    }
}

/// <summary>A client rented from <see cref="KeptClients"/>. Disposing returns it.</summary>
internal sealed class KeptClient(RpcClient client, bool isNew, Action giveBack) : IDisposable
{
    private Action? _giveBack = giveBack;

    /// <summary>The client, which other callers may use at the same time.</summary>
    public RpcClient Client => client;

    /// <summary>Whether the client was created for this caller, instead of kept from an earlier
    /// call.</summary>
    public bool IsNew => isNew;

    /// <inheritdoc/>
    public void Dispose() => Interlocked.Exchange(ref _giveBack, null)?.Invoke();
}
