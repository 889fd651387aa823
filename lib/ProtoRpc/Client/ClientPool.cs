using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;

namespace ProtoRpc.Client;

/// <summary>Keeps clients for later calls with the same endpoint, schema, identity and options, and closes
/// idle ones. Thread-safe.</summary>
/// <param name="idleTimeout">How long an idle client is kept.</param>
/// <param name="maxIdle">How many idle clients are kept. If there are more, those that were idle longest are
/// closed.</param>
/// <param name="time">The clock.</param>
internal sealed class ClientPool(TimeSpan idleTimeout, int maxIdle, TimeProvider time) : IDisposable
{
    /// <summary>How many idle clients are kept by default.</summary>
    public const int DefaultMaxIdle = 64;

    // A server that does not answer must not delay closing the shell.
    private static readonly TimeSpan ClosingTime = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly Dictionary<ClientKey, Entry> _entries = [];
    private ITimer? _timer;

    /// <summary>How long an idle client is kept by default.</summary>
    public static TimeSpan DefaultIdleTimeout { get; } = TimeSpan.FromMinutes(5);

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
    public PooledClient Rent(ClientKey key, Func<RpcClient> create)
    {
        lock (_gate)
        {
            bool isPooled = _entries.TryGetValue(key, out Entry? entry) && entry.Client.IsOpen;
            if (!isPooled)
            {
                _entries[key] = entry = new Entry(key, create());
            }

            entry!.Users++;
            return new PooledClient(entry.Client, !isPooled, () => GiveBack(entry));
        }
    }

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

/// <summary>A client rented from <see cref="ClientPool"/>. Disposing returns it.</summary>
internal sealed class PooledClient(RpcClient client, bool isNew, Action giveBack) : IDisposable
{
    private Action? _giveBack = giveBack;

    /// <summary>The client, which other callers may use at the same time.</summary>
    public RpcClient Client => client;

    /// <summary>Whether the client was created for this caller, instead of kept from an earlier
    /// call.</summary>
    public bool IsNew => isNew;

    public void Dispose() => Interlocked.Exchange(ref _giveBack, null)?.Invoke();
}

/// <summary>Identifies a client by its endpoint, schema, identity and options.</summary>
/// <remarks>The key is a hash with a random secret of the process, so the credentials in it cannot be read or
/// guessed. Users with the same name but different passwords have different keys.</remarks>
internal sealed class ClientKey : IEquatable<ClientKey>
{
    private static readonly byte[] Secret = RandomNumberGenerator.GetBytes(SHA256.HashSizeInBytes);
    private static readonly ConditionalWeakTable<object, object> Names = [];

    private readonly byte[] _digest;

    private ClientKey(byte[] digest) => _digest = digest;

    /// <summary>Creates the key of a client.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="schema">The client's schema, compared by reference; null for none.</param>
    /// <param name="options">The client's options; <see cref="RpcClientOptions.LoggerFactory"/> and <see
    /// cref="RpcClientOptions.Trace"/> do not count.</param>
    /// <param name="impersonated">The account that the current thread impersonates; null for none.</param>
    public static ClientKey Create(
        RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options, string? impersonated)
    {
        using IncrementalHash hash = IncrementalHash.CreateHMAC(HashAlgorithmName.SHA256, Secret);
        Parts parts = new(hash);
        parts.Add(endpoint.ToString());
        parts.Add(NameOf(schema));
        parts.Add(impersonated);
        Add(parts, options.Security);
        Add(parts, options.Tls);
        foreach ((string name, object value) in options.Headers)
        {
            parts.Add(name);
            parts.Add(value as byte[] ?? Encoding.UTF8.GetBytes((string)value));
        }

        parts.Add(options.Headers.Count);
        foreach (IRpcClientInterceptor interceptor in options.Interceptors)
        {
            parts.Add(NameOf(interceptor));
        }

        parts.Add(NameOf(options.HttpHandler));
        parts.Add(NameOf(options.Proxy));
        parts.Add(options.UseTls);
        parts.Add(options.Compression);
        parts.Add(options.ReplyCompression);
        parts.Add(options.HttpGet);
        parts.Add(options.GrpcWebText);
        parts.Add(options.KeepAlive);
        parts.Add(options.Lazy);
        parts.Add(options.Retry);
        parts.Add(options.Format.Name);
        parts.Add(options.Service);
        parts.Add(options.InterfaceId);
        parts.Add(options.ExceptionTypes);
        // Limits is a record, so its text contains the values of all members.
        parts.Add(options.Limits.ToString());
        return new ClientKey(hash.GetHashAndReset());
    }

    /// <summary>Creates the key of a client of the current thread, which connects as the account that the
    /// thread impersonates.</summary>
    /// <inheritdoc cref="Create(RpcEndpoint, RpcSchema?, RpcClientOptions, string?)"/>
    public static ClientKey Create(RpcEndpoint endpoint, RpcSchema? schema, RpcClientOptions options) =>
        Create(endpoint, schema, options, ImpersonatedAccount());

    public bool Equals(ClientKey? other) =>
        other is not null && CryptographicOperations.FixedTimeEquals(_digest, other._digest);

    public override bool Equals(object? obj) => Equals(obj as ClientKey);

    public override int GetHashCode() => BitConverter.ToInt32(_digest);

    private static string? ImpersonatedAccount()
    {
        if (!OperatingSystem.IsWindows())
        {
            return null;
        }

        using WindowsIdentity? account = WindowsIdentity.GetCurrent(ifImpersonating: true);
        return account?.User?.Value;
    }

    private static void Add(Parts parts, RpcClientSecurity security)
    {
        parts.Add(security.Authentication);
        parts.Add(security.Mechanism);
        parts.Add(security.ProtectionLevel);
        parts.Add(security.ServicePrincipalName);
        parts.Add(security.ServerUser);
        parts.Add(security.Token);
        NetworkCredential? credential = security.Credential;
        parts.Add(credential?.Domain);
        parts.Add(credential?.UserName);
        parts.Add(credential?.Password);
    }

    private static void Add(Parts parts, RpcTlsOptions tls)
    {
        parts.Add(tls.ServerName);
        parts.Add(tls.SkipCertificateCheck);
        parts.Add(tls.ClientCertificate?.RawData);
        parts.Add(tls.ClientCertificate?.HasPrivateKey);
        parts.Add(tls.CaCertificates?.Count);
        foreach (X509Certificate2 authority in tls.CaCertificates ?? [])
        {
            parts.Add(authority.RawData);
        }
    }

    // A unique id of the object. Unlike an address, it is never reused.
    private static object? NameOf(object? item) =>
        item is null ? null : Names.GetValue(item, static _ => Guid.NewGuid());

    // Each part is preceded by its length, so that different lists of parts have different bytes.
    private readonly struct Parts(IncrementalHash hash)
    {
        public void Add(object? value) =>
            Add(value is null
                ? null
                : Encoding.UTF8.GetBytes(FormattableString.Invariant($"{value}")));

        public void Add(byte[]? bytes)
        {
            hash.AppendData(BitConverter.GetBytes(bytes?.Length ?? -1));
            hash.AppendData(bytes ?? []);
        }
    }
}
