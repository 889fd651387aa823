using System.Net;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>Runs one connection of a listener: on its own thread, or on the thread pool.</summary>
internal sealed class ServerConnection : ISpareConnection
{
    // E_FAIL: the original server also returns this status if its handler throws.
    private const uint HandlerFailed = 0x80004005;

    private const int PeekSize = 64;

    private static readonly TimeSpan PeekAfter = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan SpareAfter = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LingerTime = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly NativeListener _listener;
    private readonly TransportConnection _transport;
    private readonly ServerAssociation _association;
    private readonly DceServerCall _call;
    private volatile ConnectionPhase _phase = ConnectionPhase.Binding;
    private volatile bool _isLeaving;
    private readonly long _opened = Environment.TickCount64;
    private long _since = Environment.TickCount64;
    private long _seenPdus;
    private ServedInterface? _running;
    private CallGate? _admitted;
    private volatile bool _isKnown;
    private volatile bool _isGivenUp;
    private int _uncounted;

    public ServerConnection(NativeListener listener, TransportConnection transport, BindNakReason? refusal)
    {
        _listener = listener;
        _transport = transport;
        _association = new ServerAssociation(
            listener.Limits, listener.SecondaryAddress, listener.IsServed, listener.Memory)
        {
            RefuseBind = refusal,
            Security = new ServerSecurity(listener.PolicyOf, ReadPeer, listener.Allowed),
            Refused = RecordRefusal,
            Trace = listener.Services.Select(service => service.Trace).FirstOrDefault(t => t is not null)
                is { } trace
                ? (trace, listener.Endpoint)
                : null,
        };
        _call = new DceServerCall(_association, listener.Endpoint);
        IsRefused = refusal is not null;
    }

    /// <summary>Whether the connection exceeds the limit, and only receives a rejection.</summary>
    public bool IsRefused { get; }

    /// <summary>The key in the quota of its address.</summary>
    public IPAddress? Address { get; init; }

    /// <summary>Serves the connection until it ends, blocking this thread.</summary>
    public void Run() => BlockingWait.End(ServeAsync<BlockingWait>());

    /// <summary>Serves the connection until it ends, on the thread pool.</summary>
    public Task RunAsync() => ServeAsync<AsyncWait>().AsTask();

    private async ValueTask ServeAsync<TWait>()
        where TWait : struct, IWaitMode
    {
        try
        {
            while (await TakeStepAsync<TWait>().ConfigureAwait(false))
            {
            }

            await CloseAsync<TWait>().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // The peer disconnected or was disconnected, or the system lacks resources. Only this connection
            // ends: an unhandled exception of a thread would end the process.
        }
        finally
        {
            End();
        }
    }

    // Returns false to close the connection. A separate method, because the runtime optimizes methods that
    // are called often better than one that loops for the whole life of a connection.
    private async ValueTask<bool> TakeStepAsync<TWait>()
        where TWait : struct, IWaitMode
    {
        ServerStep step = Next();
        if (step == ServerStep.Close)
        {
            return false;
        }

        if (step == ServerStep.Receive)
        {
            return Advance(await TWait.ReceiveAsync(_transport, _association.GetFreeMemory())
                .ConfigureAwait(false));
        }

        if (step == ServerStep.Call && BeginCall() is { } handler)
        {
            Exception? failure = null;
            try
            {
                await TWait.WaitAsync(handler(_call)).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                failure = e;
            }

            CompleteCall(failure);
        }

        while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            Enter(ConnectionPhase.Sending);
            await TWait.SendAsync(_transport, bytes).ConfigureAwait(false);
        }

        _association.EndCall();
        return true;
    }

    // Returns false at the end of the client's data.
    private bool Advance(int count)
    {
        _association.Advance(count);
        if (count == 0 && _isLeaving)
        {
            _association.ShutDown();
        }

        return count > 0;
    }

    private ServerStep Next()
    {
        ServerStep step = _association.Step();
        if (step != ServerStep.Receive)
        {
            return step;
        }

        if ((_listener.IsClosing || _isLeaving) && !_association.IsMidMessage)
        {
            _association.ShutDown();
            return ServerStep.Close;
        }

        if (!_association.IsEstablished)
        {
            // The time to bind starts with the connection, so that sending single bytes or tokens does not
            // extend it.
            Volatile.Write(ref _since, _opened);
            _phase = ConnectionPhase.Binding;
            return step;
        }

        _isKnown = _listener.Endpoint.Has(EndpointFeatures.KnowsCaller)
            || _association.Security.IsAuthenticated;
        bool moved = _seenPdus != _association.ReceivedPdus;
        _seenPdus = _association.ReceivedPdus;
        ConnectionPhase phase = _association.IsMidMessage ? ConnectionPhase.Receiving : ConnectionPhase.Idle;
        if (moved || phase != _phase)
        {
            Enter(phase);
        }

        return step;
    }

    private ExecHandler? BeginCall()
    {
        ServedInterface? served = _listener.Find(_association.Interface);
        _call.Begin(_association.FindBufferedCancel());

        // Under the lock: a withdrawal that waits for running calls must count this call, or this call must
        // be rejected.
        lock (_gate)
        {
            _running = served;
            Enter(ConnectionPhase.Running);
        }

        uint refusal = served is { IsWithdrawn: false }
            ? Admit(served.Service)
            : FaultStatus.UnknownInterface;
        if (refusal == 0)
        {
            return served!.Service.Handler;
        }

        lock (_gate)
        {
            _running = null;
        }

        RecordRefusal([_association.Interface], refusal, _association.Request.Length);
        _association.FaultCall(refusal, didNotExecute: true);
        return null;
    }

    // Rejects a call over the interface's own limits. An admitted call is counted until it completes.
    private uint Admit(ExecInterface service)
    {
        if (_association.Request.Length > service.MaxRequestBytes)
        {
            return FaultStatus.RequestTooLarge;
        }

        if (service.MaxCalls is { } max)
        {
            if (!service.Gate.TryEnter(max))
            {
                return FaultStatus.TooBusy;
            }

            _admitted = service.Gate;
        }

        return 0;
    }

    private void CompleteCall(Exception? failure)
    {
        _admitted?.Leave();
        _admitted = null;
        lock (_gate)
        {
            // From here on, the watch no longer polls the socket.
            Enter(ConnectionPhase.Sending);
            _running = null;
        }

        CancelNotice notice = _call.Notice;
        if (notice == CancelNotice.Orphan)
        {
            return;
        }

        if (_association.Reply.Overflowed)
        {
            _association.FaultCall(FaultStatus.ReplyTooLarge, didNotExecute: false);
        }
        else if (failure is OperationCanceledException && notice == CancelNotice.Cancel)
        {
            _association.FaultCall(FaultStatus.Cancelled, didNotExecute: false);
        }
        else if (_call.IsTooBusy)
        {
            _association.FaultCall(FaultStatus.TooBusy, didNotExecute: true);
        }
        else
        {
            _association.CompleteCall(failure is null ? (uint)_call.ReturnCode : HandlerFailed);
        }
    }

    private async ValueTask CloseAsync<TWait>()
        where TWait : struct, IWaitMode
    {
        Enter(ConnectionPhase.Closing);
        while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            await TWait.SendAsync(_transport, bytes).ConfigureAwait(false);
        }

        if (_association.LingersOnClose)
        {
            _transport.FinishSending();
            while (await TWait.ReceiveAsync(_transport, _association.GetFreeMemory())
                .ConfigureAwait(false) > 0)
            {
                // Unread data would reset the connection, and the client could not read the rejection.
            }
        }
    }

    // Servers that share the endpoint have separate logs. A rejection without an interface is written to all
    // of them.
    private void RecordRefusal(IReadOnlyList<Guid> interfaces, uint status, int bytes)
    {
        PeerIdentity? peer = null;
        foreach (ExecInterface service in _listener.Services
            .Where(service => interfaces.Count == 0 || interfaces.Contains(service.InterfaceId))
            .DistinctBy(service => service.Monitor))
        {
            peer ??= _association.Security.IsAuthenticated ? _association.Security.Peer : ReadPeer();
            bool isKnown = peer.User.IsAuthenticated;
            service.Monitor?.Refuse(
                service.System, _listener.Endpoint, interfaces.Count == 0 ? null : service.Name, peer,
                status is FaultStatus.AccessDenied or FaultStatus.UnsupportedLevel
                    ? isKnown ? RpcStatusCode.PermissionDenied : RpcStatusCode.Unauthenticated
                    : RpcStatusTable.OfNativeStatus(status).Code,
                bytes);
        }
    }

    private PeerIdentity ReadPeer()
    {
        try
        {
            return _transport.ReadPeer();
        }
        catch (Exception e) when (TransportConnection.IsBroken(e))
        {
            // The caller disconnected, so no reply is sent.
            return PeerIdentity.Anonymous("");
        }
    }

    private void Enter(ConnectionPhase phase)
    {
        Volatile.Write(ref _since, Environment.TickCount64);
        _phase = phase;
    }

    private void End()
    {
        _listener.Remove(this);
        lock (_gate)
        {
            // Closing a socket while another thread uses it resets the connection, and the client loses the
            // last data. Leave holds the lock while it uses the socket.
        }

        _transport.Dispose();
        _association.Dispose();
        _call.Dispose();
    }

    /// <summary>Ends the connection from another thread.</summary>
    public void Abort() => _transport.Abort();

    /// <summary>Ends the connection from another thread. An idle or sending connection sends a shutdown PDU
    /// first; a receiving or running one is closed immediately.</summary>
    /// <remarks>Clients of Windows and of the original keep connections. Without the PDU, the next call on
    /// this one fails with 1726 (RPC_S_CALL_FAILED).</remarks>
    public void Retire()
    {
        switch (_phase)
        {
            case ConnectionPhase.Idle:
                Leave();
                break;
            case ConnectionPhase.Sending when _listener.IsClosing:
            case ConnectionPhase.Closing:
                break;
            default:
                Abort();
                break;
        }
    }

    public long Spare(long now)
    {
        long waited = now - Volatile.Read(ref _since);
        return _phase is ConnectionPhase.Binding or ConnectionPhase.Idle
            && !_isKnown && !_isGivenUp && !IsRefused
            && waited >= SpareAfter.TotalMilliseconds
                ? waited
                : 0;
    }

    public bool TryGiveUp(long now)
    {
        lock (_gate)
        {
            if (Spare(now) == 0)
            {
                return false;
            }

            // Under the lock, so that no call can begin before the connection is marked as closed.
            _isGivenUp = true;
            Retire();
            return true;
        }
    }

    /// <summary>Stops counting the connection. Returns true for the first call.</summary>
    public bool TryUncount() => Interlocked.Exchange(ref _uncounted, 1) == 0;

    /// <summary>Whether a handler of the interface runs here.</summary>
    public bool IsRunning(ServedInterface served)
    {
        lock (_gate)
        {
            return _running == served;
        }
    }

    /// <summary>Cancels the call if it belongs to the interface; null for every interface.</summary>
    public void Cancel(ServedInterface? served)
    {
        lock (_gate)
        {
            if (_running is not null && (served is null || _running == served))
            {
                _call.Cancel(CancelNotice.Cancel);
            }
        }
    }

    /// <summary>Ends the connection when it waits for too long, and looks whether the caller of a long call
    /// is still there. Called by the listener's watch.</summary>
    public void Check(long now)
    {
        ConnectionPhase phase = _phase;
        TimeSpan waited = TimeSpan.FromMilliseconds(now - Volatile.Read(ref _since));
        if (phase == ConnectionPhase.Running)
        {
            if (waited > PeekAfter)
            {
                LookForCancel();
            }

            return;
        }

        RpcLimits limits = _listener.Limits;
        TimeSpan limit = phase switch
        {
            ConnectionPhase.Binding => limits.BindTimeout,
            ConnectionPhase.Idle => _isLeaving ? LingerTime : limits.IdleTimeout,
            ConnectionPhase.Closing => LingerTime,
            _ => limits.FragmentTimeout,
        };
        if (waited <= limit || limit == Timeout.InfiniteTimeSpan)
        {
            return;
        }

        if (phase == ConnectionPhase.Idle && !_isLeaving)
        {
            Leave();
        }
        else
        {
            Abort();
        }
    }

    // The connection's own thread sends the PDU: a request that arrives at this moment is still replied to
    // before it.
    private void Leave()
    {
        lock (_gate)
        {
            if (_phase == ConnectionPhase.Idle)
            {
                Volatile.Write(ref _since, Environment.TickCount64);
                _isLeaving = true;
                _transport.StopReceiving();
            }
        }
    }

    private void LookForCancel()
    {
        Span<byte> bytes = stackalloc byte[PeekSize];
        lock (_gate)
        {
            if (_phase != ConnectionPhase.Running)
            {
                return;
            }

            int count = _transport.Peek(bytes);
            CancelNotice notice = count switch
            {
                < 0 => CancelNotice.None,
                0 => CancelNotice.Orphan,
                _ => _association.FindCancel(bytes[..count]),
            };
            _call.Cancel(notice);
        }
    }
}

/// <summary>The state of a server's connection, for the listener's watch.</summary>
internal enum ConnectionPhase
{
    /// <summary>Connected, and the client has not bound yet.</summary>
    Binding,

    /// <summary>Waiting for the client's next call.</summary>
    Idle,

    /// <summary>In the middle of a PDU or of a request's fragments.</summary>
    Receiving,

    /// <summary>A handler runs.</summary>
    Running,

    /// <summary>Sending.</summary>
    Sending,

    /// <summary>All data was sent; waiting for the client to disconnect.</summary>
    Closing,
}
