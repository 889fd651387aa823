using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Security;
using ProtoRpc.Transports;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.Server.Native;

/// <summary>A bound native endpoint that accepts connections.</summary>
internal sealed class NativeListener : INativeListener, IAsyncDisposable
{
    private const int MaxRefusals = 64;
    private static readonly TimeSpan WatchPeriod = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan AcceptPause = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan PollPeriod = TimeSpan.FromMilliseconds(5);
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1);

    // The native endpoints of this process. An endpoint is removed with its last interface.
    private static readonly Lock TableGate = new();
    private static readonly Dictionary<RpcEndpoint, NativeListener> Table = [];

    private readonly TransportListener _transport;
    private readonly AddressQuota _quota;
    private readonly ConcurrentDictionary<Guid, ServedInterface> _interfaces = new();
    private readonly ConcurrentDictionary<ServerConnection, bool> _connections = new();
    private readonly CancellationTokenSource _stopAccepting = new();
    private volatile SslStreamCertificateContext? _shown;
    private readonly ConnectionWatch _watch;
    private readonly Task _accepting;
    private int _serving;
    private int _refusing;
    private int _threads;
    private long _accepted;
    private volatile bool _isClosing;

    // The number of withdrawn interfaces with running calls. Guarded by TableGate.
    private int _draining;

    // The listener accepts connections immediately, so it needs its first interface.
    private NativeListener(
        RpcEndpoint endpoint, ServedInterface first, RpcLimits limits,
        X509Certificate2? certificate, X509Certificate2Collection? chain, AllowedAccounts? allowed)
    {
        Allowed = allowed;
        _shown = certificate is null ? null : SslStreamCertificateContext.Create(certificate, chain);
        Limits = limits;
        Memory = first.Service.Memory ?? new RequestMemory(limits.MaxMemoryBytes);
        _quota = new AddressQuota(limits.MaxConnectionsPerAddress);
        _interfaces[first.Service.InterfaceId] = first;
        _transport = NativeTransports.Get(endpoint).Listen(endpoint, allowed);
        _transport.HandleMissing = () => ExecInterface.ReportHandleShortage(Services, Endpoint);
        _watch = new ConnectionWatch(WatchPeriod, CheckAll, () => _connections.IsEmpty);
        _accepting = Task.Run(AcceptAsync);
    }

    public RpcEndpoint Endpoint => _transport.Endpoint;

    public int ConnectionCount => Volatile.Read(ref _serving);

    public long AcceptedCount => Interlocked.Read(ref _accepted);

    /// <summary>The accounts that may connect in addition to the listener's own; null if only the transport
    /// restricts accounts.</summary>
    internal AllowedAccounts? Allowed { get; }

    internal RpcLimits Limits { get; }
    internal RequestMemory Memory { get; }

    internal string SecondaryAddress => _transport.SecondaryAddress;

    internal bool IsClosing => _isClosing;

    /// <summary>Serves an interface on an endpoint, binding the endpoint if no listener
    /// of this process has it yet.</summary>
    /// <remarks>The limits of the first binding apply to all interfaces of the endpoint.
    /// With a certificate, TLS is spoken there; all interfaces of an endpoint have the same.</remarks>
    /// <exception cref="RpcException">AlreadyExists: another process uses the endpoint, or this process
    /// already serves the interface on it. Unavailable or PermissionDenied: the endpoint cannot be
    /// bound.</exception>
    public static NativeListener Serve(
        RpcEndpoint endpoint, ExecInterface service, RpcLimits limits,
        X509Certificate2? certificate = null, X509Certificate2Collection? chain = null)
    {
        ArgumentNullException.ThrowIfNull(endpoint);
        ArgumentNullException.ThrowIfNull(service);
        NativeLimits.Check(limits);
        if (certificate is { HasPrivateKey: false })
        {
            throw EndpointErrors.NoPrivateKey(endpoint, certificate.Subject);
        }

        ServedInterface served = new(service, endpoint);
        AllowedAccounts? allowed = AllowedAccounts.Resolve(endpoint, service.Security);
        lock (TableGate)
        {
            if (!Table.TryGetValue(endpoint, out NativeListener? listener))
            {
                listener = new NativeListener(endpoint, served, limits, certificate, chain, allowed);
                Table.Add(listener.Endpoint, listener);
            }
            else if (!AllowedAccounts.AreEqual(listener.Allowed, allowed))
            {
                throw AllowedAccounts.Differ(endpoint);
            }
            else if (!Equals(listener._shown?.TargetCertificate, certificate))
            {
                throw EndpointErrors.OtherCertificate(endpoint);
            }
            else if (!listener._interfaces.TryAdd(service.InterfaceId, served))
            {
                throw new RpcException(
                    RpcStatusCode.AlreadyExists, RpcErrorIds.InterfaceInUse,
                    $"Interface {service.InterfaceId} is already served on '{endpoint}'. "
                    + "Stop that listener, or use another endpoint or interface id.", endpoint);
            }

            return listener;
        }
    }

    /// <summary>Shows another certificate to new connections, if it speaks TLS.</summary>
    public void Show(SslStreamCertificateContext certificate) => _shown = _shown is null ? null : certificate;

    /// <summary>Stops serving an interface: new calls are rejected immediately, running calls may end within
    /// the drain time and are then cancelled. The endpoint is closed with its last interface, when the calls
    /// of all that are stopped at the same time have ended.</summary>
    public async ValueTask StopServingAsync(Guid interfaceId, TimeSpan drain)
    {
        ServedInterface? served;
        lock (TableGate)
        {
            if (!_interfaces.TryRemove(interfaceId, out served))
            {
                return;
            }

            served.Withdraw();
            _draining++;
            if (_interfaces.IsEmpty)
            {
                StopAccepting();
            }
        }

        if (!await RunningCallsEndAsync(served, drain).ConfigureAwait(false))
        {
            foreach ((ServerConnection connection, _) in _connections)
            {
                connection.Cancel(served);
            }

            // A handler that observes the cancellation can still reply.
            await RunningCallsEndAsync(served, Grace).ConfigureAwait(false);
        }

        bool last;
        lock (TableGate)
        {
            last = --_draining == 0 && _interfaces.IsEmpty;
        }

        if (last)
        {
            await CloseAsync().ConfigureAwait(false);
        }
    }

    /// <summary>Closes the endpoint immediately.</summary>
    public async ValueTask DisposeAsync()
    {
        lock (TableGate)
        {
            foreach (ServedInterface served in _interfaces.Values)
            {
                served.Withdraw();
            }

            _interfaces.Clear();
            StopAccepting();
        }

        await CloseAsync().ConfigureAwait(false);
    }

    internal IEnumerable<ExecInterface> Services => _interfaces.Values.Select(served => served.Service);

    internal bool IsServed(Guid interfaceId) => _interfaces.ContainsKey(interfaceId);

    /// <summary>The policy of an interface. Calls of an unknown interface fail in any case.</summary>
    internal SecurityPolicy PolicyOf(Guid interfaceId) => Find(interfaceId)?.Policy ?? SecurityPolicy.Open;

    internal ServedInterface? Find(Guid interfaceId) =>
        _interfaces.TryGetValue(interfaceId, out ServedInterface? served) ? served : null;

    internal void Remove(ServerConnection connection)
    {
        if (_connections.TryRemove(connection, out bool ownsThread))
        {
            Uncount(connection);
            if (ownsThread)
            {
                Interlocked.Decrement(ref _threads);
            }
        }
    }

    private void Uncount(ServerConnection connection)
    {
        if (!connection.TryUncount())
        {
            return;
        }

        if (connection.IsRefused)
        {
            Interlocked.Decrement(ref _refusing);
            return;
        }

        Interlocked.Decrement(ref _serving);
        _quota.Leave(connection.Address);
    }

    private void StopAccepting()
    {
        if (!_isClosing)
        {
            _isClosing = true;
            Table.Remove(Endpoint);
            _stopAccepting.Cancel();
            _transport.Dispose();
        }
    }

    private async Task CloseAsync()
    {
        await _accepting.ConfigureAwait(false);
        foreach ((ServerConnection connection, _) in _connections)
        {
            connection.Cancel(served: null);
            connection.Retire();
        }

        // A handler that ignores its cancellation cannot be stopped; its thread ends when it does.
        if (!await EndsAsync(() => _connections.IsEmpty, Grace).ConfigureAwait(false))
        {
            foreach ((ServerConnection connection, _) in _connections)
            {
                connection.Abort();
            }
        }

        await _watch.DisposeAsync().ConfigureAwait(false);
        _stopAccepting.Dispose();
    }

    private Task<bool> RunningCallsEndAsync(ServedInterface served, TimeSpan patience) =>
        EndsAsync(() => !_connections.Keys.Any(connection => connection.IsRunning(served)), patience);

    internal static async Task<bool> EndsAsync(Func<bool> condition, TimeSpan patience)
    {
        long start = Environment.TickCount64;
        while (!condition())
        {
            if (patience != Timeout.InfiniteTimeSpan
                && Environment.TickCount64 - start >= patience.TotalMilliseconds)
            {
                return false;
            }

            await Task.Delay(PollPeriod).ConfigureAwait(false);
        }

        return true;
    }

    private async Task AcceptAsync()
    {
        while (!_isClosing)
        {
            try
            {
                TransportConnection transport =
                    await _transport.AcceptAsync(_stopAccepting.Token).ConfigureAwait(false);
                Admit(_shown is { } shown ? TlsConnection.ForServer(transport, shown) : transport);
            }
            catch (Exception) when (_isClosing)
            {
                return;
            }
            catch (Exception e) when (TransportConnection.IsBroken(e) || e is OutOfMemoryException)
            {
                // The client disconnected before it was accepted, or the process has no file handle or thread
                // left. Wait before the next attempt.
                await Task.Delay(AcceptPause).ConfigureAwait(false);
            }
        }
    }

    private void Admit(TransportConnection transport)
    {
        Interlocked.Increment(ref _accepted);
        IPAddress? address = AddressQuota.KeyOf(transport.RemoteEndPoint);

        // A connection that was closed to make room stays in _connections until it has ended.
        if (_quota.TryAdmit(
            address, () => Volatile.Read(ref _serving) >= Limits.MaxConnections,
            _connections.Select(connection => connection.Key), Uncount))
        {
            Interlocked.Increment(ref _serving);
            Start(new ServerConnection(this, transport, refusal: null) { Address = address });
            return;
        }

        // Connections over the limit get a bind_nak, so that clients report a busy server. Their number is
        // limited as well.
        if (Interlocked.Increment(ref _refusing) <= MaxRefusals)
        {
            Start(new ServerConnection(this, transport, BindNakReason.LocalLimit));
        }
        else
        {
            Interlocked.Decrement(ref _refusing);
            transport.Dispose();
        }
    }

    private void Start(ServerConnection connection)
    {
        bool ownsThread = !connection.IsRefused && TryTakeThread();
        _connections.TryAdd(connection, ownsThread);
        _watch.Start();
        if (!ownsThread)
        {
            _ = Task.Run(connection.RunAsync);
            return;
        }

        try
        {
            new Thread(connection.Run) { IsBackground = true, Name = "ProtoRpc connection" }.Start();
        }
        catch (OutOfMemoryException)
        {
            // The system has no more threads: this connection shares the pool's.
            _connections[connection] = false;
            Interlocked.Decrement(ref _threads);
            _ = Task.Run(connection.RunAsync);
        }
    }

    private bool TryTakeThread()
    {
        if (Interlocked.Increment(ref _threads) <= Limits.MaxBlockingConnections)
        {
            return true;
        }

        Interlocked.Decrement(ref _threads);
        return false;
    }

    private void CheckAll(long now)
    {
        foreach ((ServerConnection connection, _) in _connections)
        {
            connection.Check(now);
        }
    }
}

/// <summary>A bound native endpoint. Several interfaces of this process can share it.</summary>
internal interface INativeListener
{
    /// <summary>The bound endpoint, with the port that the system assigned.</summary>
    RpcEndpoint Endpoint { get; }

    /// <summary>The number of open connections; 0 if the transport has no connections.</summary>
    int ConnectionCount { get; }

    /// <summary>The number of connections accepted since the endpoint was bound; 0 if the transport has no
    /// connections.</summary>
    long AcceptedCount { get; }

    /// <summary>Serves an interface on an endpoint, over byte streams or whole messages.</summary>
    /// <inheritdoc cref="NativeListener.Serve"/>
    static INativeListener Serve(
        RpcEndpoint endpoint, ExecInterface service, RpcLimits limits,
        X509Certificate2? certificate = null, X509Certificate2Collection? chain = null) =>
        endpoint.Has(EndpointFeatures.WholeMessages)
            ? MessageListener.Serve(endpoint, service, limits)
            : NativeListener.Serve(endpoint, service, limits, certificate, chain);

    /// <summary>Uses another certificate for new connections. Does nothing without TLS.</summary>
    void Show(SslStreamCertificateContext certificate);

    /// <summary>Stops serving an interface: new calls are rejected immediately, running calls may end within
    /// the drain time and are then cancelled.</summary>
    ValueTask StopServingAsync(Guid interfaceId, TimeSpan drain);
}
