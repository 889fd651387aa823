using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Native;

/// <summary>A client of one interface on one native endpoint: as many connections as there are calls at the
/// same time, kept for the next ones. Safe for use by many threads.</summary>
internal sealed class NativeClient : IDisposable
{
    private readonly Lock _gate = new();
    private readonly Stack<ClientSlot> _idle = new();
    private readonly List<ClientSlot> _slots = [];
    private readonly SemaphoreSlim _free;
    private int _connections;
    private int _givenUp;
    private volatile bool _isDisposed;

    private NativeClient(RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, ClientLogin? login)
    {
        Login = login;
        Endpoint = endpoint;
        InterfaceId = interfaceId;
        Limits = limits;
        _free = new SemaphoreSlim(limits.MaxClientConnections);
    }

    /// <summary>The endpoint.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>Connections now open.</summary>
    public int ConnectionCount => Volatile.Read(ref _connections);

    internal Guid InterfaceId { get; }

    internal RpcLimits Limits { get; }

    internal ClientLogin? Login { get; }

    internal RpcTlsOptions? Tls { get; init; }

    /// <summary>Carries the calls; null where they go over byte streams.</summary>
    internal IMessageTransport? Messages { get; init; }

    /// <summary>The service that the interface is, for errors; null where it is not known.</summary>
    internal string? InterfaceName { get; set; }

    internal ClientLog? Log { get; init; }

    internal RpcTrace? Trace { get; init; }

    /// <summary>The group that the server put the client's first connection in, 0 before.</summary>
    internal uint AssociationGroup { get; private set; }

    /// <summary>Connects and binds anonymously, so that a wrong endpoint or interface is an error
    /// immediately.</summary>
    /// <exception cref="RpcException">Unavailable (refused, no such pipe), DeadlineExceeded, Unimplemented
    /// (the interface is not served there), Internal (the peer does not speak DCE/RPC).</exception>
    public static NativeClient Connect(
        RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, CancellationToken cancellation = default) =>
        Connect(endpoint, interfaceId, limits, RpcClientSecurity.Anonymous, cancellation);

    /// <summary>Connects, binds and proves who calls. A proof that the server does not accept may show with
    /// the first call only.</summary>
    /// <exception cref="RpcException">As above, and Unauthenticated, InvalidArgument or Unimplemented for
    /// what cannot be proved.</exception>
    public static NativeClient Connect(
        RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, RpcClientSecurity security,
        CancellationToken cancellation = default) =>
        Connect(endpoint, interfaceId, limits, security, tls: null, cancellation);

    /// <summary>The same over TLS, where something is said of it.</summary>
    /// <exception cref="RpcException">As above, Unavailable for a server that is not trusted, and
    /// InvalidArgument for TLS on another transport than TCP.</exception>
    public static NativeClient Connect(
        RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits, RpcClientSecurity security,
        RpcTlsOptions? tls,
        CancellationToken cancellation,
        RpcTrace? trace = null)
    {
        NativeClient client = Create(endpoint, interfaceId, limits, security, tls, log: null, trace);
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

    /// <summary>A client that connects with its first call.</summary>
    /// <exception cref="RpcException">InvalidArgument or Unimplemented for what cannot be proved, and for TLS
    /// on another transport than TCP.</exception>
    public static NativeClient Create(
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

        return new NativeClient(endpoint, interfaceId, limits, ClientLogin.Prepare(endpoint, security))
        {
            Messages = MessageTransports.Find(endpoint),
            Tls = tls,
            Log = log,
            Trace = trace,
        };
    }

    /// <summary>A client over a transport of whole messages that connects with its first call.</summary>
    internal static NativeClient Over(
        IMessageTransport transport, RpcEndpoint endpoint, Guid interfaceId, RpcLimits limits) =>
        new(endpoint, interfaceId, limits, login: null) { Messages = transport };

    /// <summary>Connects and binds, unless a connection is there.</summary>
    /// <exception cref="RpcException">As
    /// of <see cref="Connect(RpcEndpoint, Guid, RpcLimits, CancellationToken)"/>.
    /// </exception>
    public void Reach(TimeSpan timeout, CancellationToken cancellation = default)
    {
        using NativeExchange exchange = Begin(cancellation);
        exchange.Connect(CallClock.Start(timeout, cancellation));
    }

    /// <summary>Begins a call. When as many calls run as there may be connections,
    /// waits for one to end.</summary>
    /// <exception cref="RpcException">ResourceExhausted when none ended within the limit's call timeout,
    /// Cancelled, FailedPrecondition after <see cref="Dispose"/>.</exception>
    /// <exception cref="OperationCanceledException">The token is already cancelled.</exception>
    public NativeExchange Begin(CancellationToken cancellation = default) => BlockingWait.End(
        BeginAsync<BlockingWait>(CallClock.Start(Timeout.InfiniteTimeSpan, cancellation)));

    /// <summary>Begins a call, which waits for a connection no longer than it has time.</summary>
    /// <inheritdoc cref="Begin(CancellationToken)"/>
    public ValueTask<NativeExchange> BeginAsync<TWait>(CallClock clock)
        where TWait : struct, IWaitMode
    {
        clock.Caller.ThrowIfCancellationRequested();
        return _free.Wait(0) ? new(NewExchange()) : BeginWhenFreeAsync<TWait>(clock);
    }

    /// <summary>Closes the connections, and fails the calls that wait for an answer.</summary>
    public void Dispose()
    {
        ClientSlot[] busy;
        lock (_gate)
        {
            _isDisposed = true;
            busy = [.. _slots.Except(_idle)];
            _slots.Clear();
            while (_idle.TryPop(out ClientSlot? slot))
            {
                slot.Dispose();
            }
        }

        Array.ForEach(busy, static slot => slot.CancelCall());
    }

    private async ValueTask<NativeExchange> BeginWhenFreeAsync<TWait>(CallClock clock)
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

    private NativeExchange NewExchange()
    {
        lock (_gate)
        {
            if (!_isDisposed)
            {
                return new NativeExchange(this, _idle.TryPop(out ClientSlot? slot) ? slot : NewSlot());
            }
        }

        _free.Release();
        throw CallErrors.Closed(Endpoint);
    }

    private ClientSlot NewSlot()
    {
        ClientSlot slot = new(this);
        _slots.Add(slot);
        return slot;
    }

    /// <summary>Whether it was closed.</summary>
    internal bool IsDisposed => _isDisposed;

    /// <summary>Takes a connection that was just opened.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the client was closed meanwhile.</exception>
    internal NativeConnection Adopt(NativeConnection connection)
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

    /// <summary>Counts a call that was given up while its thread waits for the server.</summary>
    internal void BeginGivenUp() => Interlocked.Increment(ref _givenUp);

    /// <summary>Counts one less.</summary>
    internal void EndGivenUp() => Interlocked.Decrement(ref _givenUp);

    /// <summary>Whether so many threads wait in calls that were given up that there may be no
    /// more.</summary>
    internal bool IsStuck => Volatile.Read(ref _givenUp) >= Limits.MaxClientConnections;

    internal void Forget() => Interlocked.Decrement(ref _connections);

    internal void Return(ClientSlot slot)
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
