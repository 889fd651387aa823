using System.Collections.Concurrent;
using System.Net.Security;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>A native endpoint whose complete requests come from the RPC runtime of the operating
/// system.</summary>
/// <remarks>The runtime registers interfaces for the whole process and not for an endpoint, so an interface
/// belongs to one server of the process.</remarks>
internal sealed class MessageListener : INativeListener
{
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1);

    private static readonly Lock TableGate = new();
    private static readonly Dictionary<RpcEndpoint, MessageListener> Table = [];

    private readonly IMessageTransport _transport;
    private readonly RpcLimits _limits;
    private readonly RequestMemory _memory;
    private readonly Dictionary<Guid, (ServedInterface Served, IDisposable Registration)> _interfaces = [];
    private readonly ConcurrentDictionary<MessageServerCall, bool> _calls = [];
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

    public RpcEndpoint Endpoint { get; }

    public int ConnectionCount => 0;

    public long AcceptedCount => 0;

    /// <summary>Serves an interface on an endpoint.</summary>
    /// <exception cref="RpcException">Unimplemented: the system does not support the transport.
    /// AlreadyExists: the endpoint is in use, or another server of this process has the interface.
    /// Unavailable or PermissionDenied: the endpoint cannot be bound.</exception>
    public static MessageListener Serve(RpcEndpoint endpoint, ExecInterface service, RpcLimits limits) =>
        Serve(endpoint, service, limits, MessageTransports.Get(endpoint));

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

    public void Show(SslStreamCertificateContext certificate)
    {
        // There is no TLS within a machine.
    }

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

            // The Windows runtime calls the first server that registered an interface, so this one is
            // unregistered before its calls end.
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
            foreach ((MessageServerCall call, _) in _calls)
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

    // Listeners of one server share a monitor. The ping interface can have several servers: any of them can
    // reply.
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
                    RpcStatusCode.AlreadyExists, RpcErrorIds.InterfaceInUse,
                    $"Interface {service.InterfaceId} is already served on '{other.Endpoint}'. "
                    + "The RPC runtime of Windows serves an interface once in a process. Stop that "
                    + "listener, use another interface id, or serve it in another process.", endpoint);
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
        using MessageServerCall call = new(served, Endpoint, _limits);
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

/// <summary>A call whose request arrived completely. It is checked and run on the thread of the system's
/// runtime, which waits for the handler.</summary>
internal sealed class MessageServerCall : ExecServerCall, IDisposable
{
    private readonly CancellationTokenSource _stopped = new();
    private readonly RpcLimits _limits;
    private readonly PooledMessageBytes _reply;
    private byte[] _stub = [];
    private ReadOnlyMemory<byte> _request;
    private RequestMemory.Share? _memory;
    private Guid _id;
    private PeerIdentity _peer = PeerIdentity.Anonymous("");

    public MessageServerCall(ServedInterface served, RpcEndpoint endpoint, RpcLimits limits)
    {
        Served = served;
        Endpoint = endpoint;
        _limits = limits;
        Cancellation = _stopped.Token;
        _reply = new PooledMessageBytes(
            limits.MaxMessageBytes, "reply", ExecStub.ResponsePrefix, ExecStub.ResponseSuffix);
    }

    public ServedInterface Served { get; }

    public override ReadOnlyMemory<byte> Request => _request;

    public override IBufferWriter<byte> Reply => _reply;

    public override int ReplyLength => _reply.Length;

    public override RequestMemory.Share? Memory => _memory;

    public override PeerIdentity Peer => _peer;

    public override RpcEndpoint Endpoint { get; }

    public override CancellationToken Cancellation { get; }

    public override void ResetReply() => _reply.Reset();

    /// <summary>Cancels it; what handlers registered runs on another thread.</summary>
    public void Cancel()
    {
        try
        {
            _stopped.CancelAsync();
        }
        catch (ObjectDisposedException)
        {
            // The call ended and disposed its source before the cancellation.
        }
    }

    /// <summary>Runs the call and sends its reply, blocking the thread.</summary>
    /// <param name="message">The request.</param>
    /// <param name="memory">Counts the bytes of requests.</param>
    /// <param name="isFull">Whether the limit of running calls is reached.</param>
    public void Answer(IIncomingMessage message, RequestMemory memory, bool isFull)
    {
        _peer = message.ReadPeer();
        RequestMemory.Share share = _memory = new(memory);
        try
        {
            uint refusal = Check(message, share, isFull);
            uint code = refusal != 0 ? Refuse(refusal, message.Stub.Length) : RunAdmitted();
            Span<byte> reply = _reply.Whole.Span;
            message.Reply(reply[..ExecStub.WriteResponse(reply, _reply.Length, code)]);
        }
        finally
        {
            share.Release();
        }
    }

    public void Dispose()
    {
        _stopped.Dispose();
        _reply.Dispose();
        if (_stub.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(_stub);
        }
    }

    // Returns 0, or the status that rejects the call. The server does not copy the request of a caller that
    // it rejects.
    private uint Check(IIncomingMessage message, RequestMemory.Share share, bool isFull)
    {
        uint refusal = Served.IsWithdrawn ? WindowsStatus.UnknownInterface : Judge();
        if (refusal != 0)
        {
            return refusal;
        }

        ReadOnlySpan<byte> stub = CancelStub.Split(message.Stub, out _id);
        if (isFull || stub.Length - ExecStub.RequestPrefix > MaxRequest || !share.TryHold(stub.Length))
        {
            return WindowsStatus.ServerTooBusy;
        }

        // A copy: a handler that keeps its request could otherwise read memory that the Windows runtime has
        // freed.
        _stub = ArrayPool<byte>.Shared.Rent(stub.Length);
        stub.CopyTo(_stub);
        return ExecStub.TryReadRequest(
            _stub.AsMemory(0, stub.Length), message.IsLittleEndian, allowTrailing: true, out _request)
            ? 0
            : WindowsStatus.BadStubData;
    }

    private int MaxRequest =>
        Math.Min(_limits.MaxMessageBytes, Served.Service.MaxRequestBytes ?? int.MaxValue);

    private uint Judge()
    {
        SecurityPolicy policy = Served.Policy;
        return policy.AllowsAnonymous ? 0
            : !_peer.User.IsAuthenticated ? WindowsStatus.AccessDenied
            : _peer.ProtectionLevel < policy.Security.MinimumLevel ? WindowsStatus.UnsupportedLevel : 0;
    }

    private uint RunAdmitted()
    {
        ExecInterface service = Served.Service;
        if (service.MaxCalls is not { } max)
        {
            return Run();
        }

        if (!service.Gate.TryEnter(max))
        {
            return Refuse(WindowsStatus.ServerTooBusy, _request.Length);
        }

        try
        {
            return Run();
        }
        finally
        {
            service.Gate.Leave();
        }
    }

    private uint Run()
    {
        bool canBeCancelled = CancelService.TryAdd(_id, this);
        try
        {
            BlockingWait.End(BlockingWait.WaitAsync(Served.Service.Handler(this)));
            return _reply.Overflowed ? WindowsStatus.ReplyTooLarge
                : IsTooBusy ? WindowsStatus.ServerTooBusy
                : (uint)ReturnCode;
        }
        catch (Exception e)
        {
            return _reply.Overflowed ? WindowsStatus.ReplyTooLarge
                : e is OperationCanceledException && _stopped.IsCancellationRequested
                    ? WindowsStatus.CallCancelled
                    : WindowsStatus.HandlerFailed;
        }
        finally
        {
            if (canBeCancelled)
            {
                CancelService.Remove(_id);
            }
        }
    }

    private uint Refuse(uint status, int bytes)
    {
        ExecInterface service = Served.Service;
        service.Monitor?.Refuse(
            service.System, Endpoint, service.Name, _peer,
            status is WindowsStatus.AccessDenied or WindowsStatus.UnsupportedLevel
                ? _peer.User.IsAuthenticated ? RpcStatusCode.PermissionDenied : RpcStatusCode.Unauthenticated
                : RpcStatusTable.OfNativeStatus(status).Code,
            bytes);
        return status;
    }
}

/// <summary>Cancels running calls at the request of their clients, if requests come from the system's
/// runtime.</summary>
/// <remarks>The runtime serves an interface for the whole process, so there is one table.</remarks>
internal static class CancelService
{
    private static readonly ConcurrentDictionary<Guid, MessageServerCall> Running = [];

    /// <summary>Serves it on an endpoint until the result is disposed.</summary>
    /// <exception cref="RpcException">As of <see cref="IMessageTransport.Listen"/>.</exception>
    public static IDisposable Serve(IMessageTransport transport, RpcEndpoint endpoint) =>
        transport.Listen(endpoint, CancelStub.InterfaceId, CancelStub.RequestSize, Answer);

    /// <summary>Lets a call be cancelled from now on.</summary>
    /// <returns>False if it has no id, or the id of another one.</returns>
    public static bool TryAdd(Guid id, MessageServerCall call) =>
        id != Guid.Empty && Running.TryAdd(id, call);

    /// <summary>The call has ended.</summary>
    public static void Remove(Guid id) => Running.TryRemove(id, out _);

    private static void Answer(IIncomingMessage message)
    {
        Span<byte> reply = stackalloc byte[ExecStub.ResponsePrefix + ExecStub.ResponseSuffix];
        message.Reply(reply[..ExecStub.WriteResponse(reply, 0, Cancel(message))]);
    }

    private static uint Cancel(IIncomingMessage message)
    {
        if (!CancelStub.TryReadRequest(message.Stub, message.IsLittleEndian, out Guid id))
        {
            return WindowsStatus.BadStubData;
        }

        if (id == Guid.Empty)
        {
            return 0;
        }

        if (!Running.TryGetValue(id, out MessageServerCall? call)
            || call.Peer.ProcessId != message.ReadPeer().ProcessId)
        {
            return WindowsStatus.NotFound;
        }

        call.Cancel();
        return 0;
    }
}
