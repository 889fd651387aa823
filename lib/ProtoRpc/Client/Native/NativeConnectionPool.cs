using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>A client of one interface on a native endpoint. It has one connection for each parallel call, and
/// keeps them for later calls. Thread-safe.</summary>
internal sealed class NativeConnectionPool : IDisposable
{
    private readonly Lock _gate = new();
    private readonly Stack<PooledConnection> _idle = new();
    private readonly List<PooledConnection> _slots = [];
    private readonly SemaphoreSlim _free;
    private readonly CancellationTokenSource _closing = new();
    private int _connections;
    private int _givenUp;
    private volatile bool _isDisposed;
    private volatile bool _checksServer;

    private NativeConnectionPool(RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, ClientLogin? login)
    {
        Login = login;
        Endpoint = endpoint;
        InterfaceId = interfaceId;
        Limits = limits;
        SentInterfaceId = login is { Level: > RpcProtectionLevel.Connect }
            ? interfaceId.ToByteArray(bigEndian: true)
            : default;
        _free = new SemaphoreSlim(limits.MaxClientConnections);
    }

    public RpcEndpoint Endpoint { get; }

    /// <summary>The number of open connections.</summary>
    public int ConnectionCount => Volatile.Read(ref _connections);

    internal Guid InterfaceId { get; }

    /// <summary>The id of the interface as protected calls send it in their headers; empty for calls that are
    /// not protected.</summary>
    internal ReadOnlyMemory<byte> SentInterfaceId { get; }

    internal RpcLimits Limits { get; }

    internal ClientLogin? Login { get; }

    internal RpcTlsOptions? Tls { get; init; }

    /// <summary>Whether the server's account is checked before anything is sent. Once a call has a header
    /// with a secret, true for all connections.</summary>
    internal bool ChecksServer
    {
        get => _checksServer;
        set => _checksServer = value;
    }

    /// <summary>The account that must run the server; null for the own account and administrators.</summary>
    internal string? ServerUser { get; init; }

    /// <summary>Carries the calls; null for byte streams.</summary>
    internal IMessageTransport? Messages { get; init; }

    /// <summary>The name of the interface's service, for errors; null if it is not known.</summary>
    internal string? InterfaceName { get; set; }

    internal ClientLog? Log { get; init; }

    internal RpcTrace? Trace { get; init; }

    /// <summary>The association group that the server assigned to the first connection; 0 before.</summary>
    internal uint AssociationGroup { get; private set; }

    /// <summary>Connects, binds and authenticates, so that a wrong endpoint or interface is reported
    /// immediately. If the server rejects the credentials, the first call may be the one that reports
    /// it.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="interfaceId">The interface.</param>
    /// <param name="limits">The limits.</param>
    /// <param name="security">How the client authenticates; null for an anonymous client.</param>
    /// <param name="tls">The options of TLS; null for a connection without TLS.</param>
    /// <param name="cancellation">Cancels connecting.</param>
    /// <param name="trace">Records the traffic; null for no record.</param>
    /// <exception cref="RpcException">Unavailable: the connection is refused, the pipe does not exist, or the
    /// server's certificate is not trusted. DeadlineExceeded. Unimplemented: the interface is not served
    /// there. Internal: the peer does not use DCE/RPC. Unauthenticated, InvalidArgument or Unimplemented: the
    /// client cannot authenticate. InvalidArgument: TLS is only supported on TCP.</exception>
    public static NativeConnectionPool Connect(
        RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits,
        RpcClientSecurity? security = null,
        RpcTlsOptions? tls = null,
        CancellationToken cancellation = default,
        RpcTrace? trace = null)
    {
        NativeConnectionPool client = Create(
            endpoint, interfaceId, limits, security ?? RpcClientSecurity.Anonymous, tls, log: null, trace);
        try
        {
            client.Reach(limits.ConnectTimeout, cancellation);
            return client;
        }
        catch
        {
            client.Dispose();
            throw;
        }
    }

    /// <summary>Creates a client that connects with its first call.</summary>
    /// <exception cref="RpcException">InvalidArgument or Unimplemented: the client cannot authenticate as
    /// requested, or TLS is used on another transport than TCP.</exception>
    public static NativeConnectionPool Create(
        RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, RpcClientSecurity security,
        RpcTlsOptions? tls = null,
        ClientLog? log = null,
        RpcTrace? trace = null)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        ArgumentNullException.ThrowIfNull(security);
        NativeLimits.Check(limits);
        if (tls is not null && !endpoint.Has(EndpointFeatures.OptionalTls))
        {
            throw EndpointErrors.NoTls(endpoint);
        }

        ServerAccount.Check(endpoint, security);
        return new NativeConnectionPool(
            endpoint, interfaceId, limits, ClientLogin.Prepare(endpoint, security))
        {
            Messages = MessageTransports.Find(endpoint),
            // On Unix, only the user's own account can write the folder of the socket. On Windows, every
            // account can create a pipe with this name, so the server's account is checked.
            ChecksServer = security.ServerUser is not null
                || (OperatingSystem.IsWindows() && endpoint.IsLocalOnly
                    && endpoint.Has(EndpointFeatures.KnowsServer)),
            ServerUser = security.ServerUser,
            Tls = tls,
            Log = log,
            Trace = trace,
        };
    }

    /// <summary>Creates a client on a transport of whole messages that connects with its first
    /// call.</summary>
    internal static NativeConnectionPool Over(
        IMessageTransport transport, RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits) =>
        new(endpoint, interfaceId, limits, login: null) { Messages = transport };

    /// <summary>Connects and binds, unless there is a connection.</summary>
    /// <exception cref="RpcException">The statuses of <see cref="Connect"/>.</exception>
    public void Reach(TimeSpan timeout, CancellationToken cancellation = default)
    {
        using NativeClientCall exchange = Begin(cancellation);
        exchange.Connect(CallClock.Start(timeout, cancellation));
    }

    /// <summary>Begins a call. If as many calls run as connections are allowed, waits until one
    /// ends.</summary>
    /// <exception cref="RpcException">ResourceExhausted: no call ended within the limit's call timeout.
    /// Cancelled. FailedPrecondition: the client is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled.</exception>
    public NativeClientCall Begin(CancellationToken cancellation = default) => BlockingWait.End(
        BeginAsync<BlockingWait>(CallClock.Start(Timeout.InfiniteTimeSpan, cancellation)));

    /// <summary>Begins a call. Waits for a connection within the time of the call.</summary>
    /// <inheritdoc cref="Begin(CancellationToken)"/>
    public ValueTask<NativeClientCall> BeginAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        clock.Caller.ThrowIfCancellationRequested();
        return _free.Wait(0) ? new(NewExchange()) : BeginWhenFreeAsync<TWait>(clock);
    }

    /// <summary>Closes the connections, and fails the running calls.</summary>
    public void Dispose()
    {
        PooledConnection[] busy;
        lock (_gate)
        {
            _isDisposed = true;
            busy = [.. _slots.Except(_idle)];
            _slots.Clear();
            while (_idle.TryPop(out PooledConnection? slot))
            {
                slot.Dispose();
            }
        }

        _closing.Cancel();
        Array.ForEach(busy, static slot => slot.CancelCall());
    }

    private async ValueTask<NativeClientCall> BeginWhenFreeAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        try
        {
            TimeSpan patience = clock.Within(Limits.CallTimeout).Timeout;
            return await TWait.EnterAsync(_free, patience, clock.Caller).ConfigureAwait(false)
                ? NewExchange()
                : throw CallErrors.AllBusy(Endpoint, Limits.MaxClientConnections);
        }
        catch (OperationCanceledException)
        {
            throw CallErrors.Cancelled(Endpoint, sent: false);
        }
    }

    private NativeClientCall NewExchange()
    {
        lock (_gate)
        {
            if (!_isDisposed)
            {
                if (!_idle.TryPop(out PooledConnection? slot))
                {
                    slot = new(this);
                    _slots.Add(slot);
                }

                return new NativeClientCall(this, slot);
            }
        }

        _free.Release();
        throw CallErrors.Closed(Endpoint);
    }

    /// <summary>Whether the client is closed.</summary>
    internal bool IsDisposed => _isDisposed;

    /// <summary>Connects and binds, until the client is closed.</summary>
    /// <exception cref="RpcException">The statuses of <see cref="Connect"/>. FailedPrecondition: the client
    /// was closed meanwhile.</exception>
    internal async ValueTask<NativeConnection> OpenAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(clock.Caller, _closing.Token);
        try
        {
            return Adopt(
                await NativeConnection.OpenAsync<TWait>(this, clock.For(end.Token)).ConfigureAwait(false));
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Cancelled && _isDisposed
            && !clock.Caller.IsCancellationRequested)
        {
            throw CallErrors.Closed(Endpoint);
        }
    }

    /// <summary>Adds a connection that was just opened.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the client was closed meanwhile.</exception>
    private NativeConnection Adopt(NativeConnection connection)
    {
        lock (_gate)
        {
            if (_isDisposed)
            {
                connection.Dispose();
                throw CallErrors.Closed(Endpoint);
            }
        }

        Interlocked.Increment(ref _connections);
        AssociationGroup = connection.AssociationGroup;
        return connection;
    }

    /// <summary>Counts an abandoned call whose thread still waits for the server.</summary>
    internal void BeginGivenUp() => Interlocked.Increment(ref _givenUp);

    /// <summary>Counts the end of an abandoned call's thread.</summary>
    internal void EndGivenUp() => Interlocked.Decrement(ref _givenUp);

    /// <summary>Whether the threads of abandoned calls have reached their limit.</summary>
    internal bool IsStuck => Volatile.Read(ref _givenUp) >= Limits.MaxClientConnections;

    internal void Forget() => Interlocked.Decrement(ref _connections);

    internal void Return(PooledConnection slot)
    {
        slot.Reset();
        lock (_gate)
        {
            if (_isDisposed)
            {
                slot.Dispose();
            }
            else
            {
                _idle.Push(slot);
            }
        }

        _free.Release();
    }
}

/// <summary>The resources of one call at a time, kept for the next call: a request buffer, a connection for
/// blocking calls, and one for asynchronous calls.</summary>
internal sealed class PooledConnection(NativeConnectionPool client) : IDisposable
{
    private readonly NativeConnectionPool _client = client;
    private NativeConnection? _blocking;
    private NativeConnection? _async;

    public PooledMessageBytes Request { get; } = new(
        client.Limits.MaxMessageBytes, "request", ClientAssociation.RequestPrefix,
        ClientAssociation.RequestSuffix);

    /// <summary>Returns the connection for calls that wait in this way, and connects if necessary.</summary>
    /// <param name="clock">The time for connecting.</param>
    /// <param name="bound">The maximum time for connecting; null for that of the clock.</param>
    public ValueTask<(NativeConnection Connection, bool IsFresh)> GetAsync<TWait>(
        CallClock clock, TimeSpan? bound = null)
        where TWait : struct, IWaitMode
    {
        ref NativeConnection? pooled = ref Pooled<TWait>();
        if (pooled is { } known && !known.IsUsable())
        {
            Close(ref pooled);
        }

        return pooled is { } usable
            ? new((usable, false))
            : OpenAsync<TWait>(clock.ToConnect(bound));
    }

    /// <summary>Closes a connection that must not be used again.</summary>
    public void Drop(NativeConnection connection)
    {
        Close(ref connection == _blocking ? ref _blocking : ref _async);
    }

    /// <summary>Cancels the call that waits for its reply, if any. Call it from any thread.</summary>
    public void CancelCall()
    {
        Volatile.Read(ref _blocking)?.CancelCall();
        Volatile.Read(ref _async)?.CancelCall();
    }

    /// <summary>Clears the call.</summary>
    public void Reset()
    {
        _blocking?.Release();
        _async?.Release();
        Request.Reset();
    }

    public void Dispose()
    {
        Close(ref _blocking);
        Close(ref _async);
        Request.Dispose();
    }

    private async ValueTask<(NativeConnection Connection, bool IsFresh)> OpenAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        NativeConnection fresh = await _client.OpenAsync<TWait>(clock).ConfigureAwait(false);
        return (Pooled<TWait>() = fresh, true);
    }

    // Separate connections: .NET makes blocking calls slow on a socket that was once used asynchronously.
    private ref NativeConnection? Pooled<TWait>()
        where TWait : struct, IWaitMode =>
        ref typeof(TWait) == typeof(BlockingWait) ? ref _blocking : ref _async;

    private void Close(ref NativeConnection? connection)
    {
        if (Interlocked.Exchange(ref connection, null) is { } open)
        {
            open.Dispose();
            _client.Forget();
        }
    }
}

/// <summary>A client's connection to one interface: one call at a time.</summary>
internal abstract class NativeConnection : IDisposable
{
    /// <summary>The reply's payload, until the next call.</summary>
    public abstract ReadOnlyMemory<byte> Reply { get; }

    /// <summary>The association group that the server assigned; 0 for none.</summary>
    public virtual uint AssociationGroup => 0;

    /// <summary>Connects to a client's interface.</summary>
    public static ValueTask<NativeConnection> OpenAsync<TWait>(NativeConnectionPool client, CallClock clock)
        where TWait : struct, IWaitMode =>
        client.Messages is { } transport
            ? MessageConnection.ReachAsync<TWait>(client, transport, clock)
            : DceConnection.BindAsync<TWait>(client, clock);

    /// <summary>Whether the connection is still open after a pause. This detects a restarted
    /// server.</summary>
    public abstract bool IsUsable();

    /// <summary>Cancels the call that waits for its reply, if any. Call it from any thread.</summary>
    public abstract void CancelCall();

    /// <summary>Releases the reply's memory.</summary>
    public abstract void Release();

    public abstract void Dispose();
}
