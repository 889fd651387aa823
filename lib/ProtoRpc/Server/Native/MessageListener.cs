using System.Collections.Concurrent;
using System.Net.Security;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>A native endpoint whose requests come whole, from the RPC runtime of the operating
/// system.</summary>
/// <remarks>The runtime knows interfaces of the process and not of an endpoint: so an interface belongs to
/// one server of the process.</remarks>
internal sealed class MessageListener : INativeListener
{
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1);

    private static readonly Lock TableGate = new();
    private static readonly Dictionary<RpcEndpoint, MessageListener> Table = [];

    private readonly IMessageTransport _transport;
    private readonly RpcLimits _limits;
    private readonly RequestMemory _memory;
    private readonly Dictionary<Guid, (ServedInterface Served, IDisposable Registration)> _interfaces = [];
    private readonly ConcurrentDictionary<WholeCall, bool> _calls = [];
    private IDisposable? _cancels;
    private int _running;

    private MessageListener(
        RpcEndpoint endpoint, IMessageTransport transport, RpcLimits limits, RequestMemory? memory)
    {
        Endpoint = endpoint;
        _transport = transport;
        _limits = limits;
        _memory = memory ?? new RequestMemory(limits.MaxMemoryBytes);
    }

    /// <inheritdoc/>
    public RpcEndpoint Endpoint { get; }

    /// <inheritdoc/>
    public int ConnectionCount => 0;

    /// <inheritdoc/>
    public long AcceptedCount => 0;

    /// <summary>Serves an interface on an endpoint.</summary>
    /// <exception cref="RpcException">Unimplemented where the system does not have the transport;
    /// AlreadyExists where the endpoint is in use, or another server of this process has the interface;
    /// Unavailable or PermissionDenied where it cannot be bound.</exception>
    public static MessageListener Serve(RpcEndpoint endpoint, ExecInterface service, RpcLimits limits) =>
        Serve(endpoint, service, limits, MessageTransports.Of(endpoint));

    /// <summary>The same over another transport.</summary>
    internal static MessageListener Serve(
        RpcEndpoint endpoint, ExecInterface service, RpcLimits limits, IMessageTransport transport)
    {
        NativeLimits.Check(limits);
        ServedInterface served = new(service, endpoint);
        lock (TableGate)
        {
            RequireFree(endpoint, service);
            if (!Table.TryGetValue(endpoint, out MessageListener? listener))
            {
                listener = new MessageListener(endpoint, transport, limits, service.Memory);
            }

            listener.Add(served);
            Table[endpoint] = listener;
            return listener;
        }
    }

    /// <inheritdoc/>
    public void Show(SslStreamCertificateContext certificate)
    {
        // There is no TLS within a machine.
    }

    /// <inheritdoc/>
    public async ValueTask StopServingAsync(Guid interfaceId, TimeSpan drain)
    {
        (ServedInterface Served, IDisposable Registration) found;
        IDisposable? cancels = null;
        lock (TableGate)
        {
            if (!_interfaces.Remove(interfaceId, out found))
            {
                return;
            }

            found.Served.Withdraw();

            // The runtime calls the first server of an interface, so that one that ends must not be it.
            found.Registration.Dispose();
            if (_interfaces.Count == 0)
            {
                Table.Remove(Endpoint);
                cancels = _cancels;
            }
        }

        // Callers can cancel their calls until the end.
        using IDisposable? ending = cancels;

        if (!await RunningCallsEndAsync(found.Served, drain).ConfigureAwait(false))
        {
            foreach ((WholeCall call, _) in _calls)
            {
                if (call.Served == found.Served)
                {
                    call.Cancel();
                }
            }

            // A handler that ignores its cancellation cannot be stopped; its thread ends when it does.
            await RunningCallsEndAsync(found.Served, Grace).ConfigureAwait(false);
        }
    }

    // All of a server's interfaces have the same monitor. A ping may be answered by any server.
    private static void RequireFree(RpcEndpoint endpoint, ExecInterface service)
    {
        foreach (MessageListener other in Table.Values)
        {
            if (other._interfaces.TryGetValue(service.InterfaceId, out var owner)
                && (other.Endpoint.Equals(endpoint)
                    || (owner.Served.Service.Monitor != service.Monitor
                        && service.InterfaceId != PingProtocol.InterfaceId)))
            {
                throw new RpcException(
                    RpcStatusCode.AlreadyExists,
                    $"Interface {service.InterfaceId} is already served on '{other.Endpoint}'. "
                    + "The RPC runtime of Windows serves an interface once in a process. Stop that "
                    + "listener, use another interface id, or serve it in another process.")
                {
                    ErrorId = RpcErrorIds.InterfaceInUse,
                    Endpoint = endpoint,
                };
            }
        }
    }

    private void Add(ServedInterface served)
    {
        const int Around = ExecStub.RequestPrefix + CancelStub.TrailerSize;
        int most = (int)Math.Min(int.MaxValue, _limits.MaxMessageBytes + (long)Around);
        IDisposable? cancels = _cancels is null ? CancelService.Serve(_transport, Endpoint) : null;
        try
        {
            IDisposable registration = _transport.Listen(
                Endpoint, served.Service.InterfaceId, most, message => Answer(served, message));
            _interfaces.Add(served.Service.InterfaceId, (served, registration));
        }
        catch
        {
            cancels?.Dispose();
            throw;
        }

        _cancels ??= cancels;
    }

    private void Answer(ServedInterface served, IIncomingMessage message)
    {
        using WholeCall call = new(served, Endpoint, _limits);
        _calls.TryAdd(call, true);
        bool isCounted = Interlocked.Increment(ref _running) <= _limits.MaxConnections;
        try
        {
            call.Answer(message, _memory, isFull: !isCounted);
        }
        finally
        {
            Interlocked.Decrement(ref _running);
            _calls.TryRemove(call, out _);
        }
    }

    private Task<bool> RunningCallsEndAsync(ServedInterface served, TimeSpan patience) =>
        NativeListener.EndsAsync(() => !_calls.Keys.Any(call => call.Served == served), patience);
}
