using System.Net;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Native;

/// <summary>Drives one connection of a listener: by a thread of its own, or on the thread pool.</summary>
internal sealed class ServerConnection
{
    // What the original server answers when its handler throws (E_FAIL).
    private const uint HandlerFailed = 0x80004005;
    private const int PeekSize = 64;
    private static readonly TimeSpan PeekAfter = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan SpareAfter = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LingerTime = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly NativeListener _listener;
    private readonly TransportConnection _transport;
    private readonly ServerAssociation _association;
    private readonly ServerCall _call;
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
        _association = new ServerAssociation(listener.Limits, listener.SecondaryAddress, listener.IsServed)
        {
            RefuseBind = refusal,
            Security = new ServerSecurity(listener.PolicyOf, ReadPeer),
        };
        _call = new ServerCall(_association, listener.Endpoint);
        IsRefused = refusal is not null;
    }

    /// <summary>Whether it is one too many and only told so.</summary>
    public bool IsRefused { get; }

    /// <summary>What it counts as in the quota of its address.</summary>
    public IPAddress? Address { get; init; }

    /// <summary>Serves the connection until it ends, blocking this thread.</summary>
    public void Run()
    {
        try
        {
            while (Next() is not ServerStep.Close and var step)
            {
                if (step == ServerStep.Receive)
                {
                    int count = _transport.Receive(_association.GetFreeMemory());
                    if (!Advance(count))
                    {
                        break;
                    }

                    continue;
                }

                if (step == ServerStep.Call)
                {
                    HandleCall();
                }

                while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
                {
                    Enter(ConnectionPhase.Sending);
                    _transport.Send(bytes);
                }

                _association.EndCall();
            }

            Close();
        }
        catch (Exception)
        {
            // The peer vanished or was cut off, or the system ran out of something: the others go on, and the
            // process above all, which an exception that leaves a thread would end.
        }
        finally
        {
            End();
        }
    }

    /// <summary>The same on the thread pool.</summary>
    public async Task RunAsync()
    {
        try
        {
            while (Next() is not ServerStep.Close and var step)
            {
                if (step == ServerStep.Receive)
                {
                    int count = await _transport.ReceiveAsync(_association.GetFreeMemory(), default)
                        .ConfigureAwait(false);
                    if (!Advance(count))
                    {
                        break;
                    }

                    continue;
                }

                if (step == ServerStep.Call)
                {
                    await HandleCallAsync().ConfigureAwait(false);
                }

                while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
                {
                    Enter(ConnectionPhase.Sending);
                    await _transport.SendAsync(bytes, default).ConfigureAwait(false);
                }

                _association.EndCall();
            }

            await CloseAsync().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // As above.
        }
        finally
        {
            End();
        }
    }

    /// <summary>Ends the connection from another thread.</summary>
    public void Abort() => _transport.Abort();

    /// <summary>Ends the connection from another thread: at once while a request comes or runs; where it
    /// rests or sends, the client is told first with a shutdown PDU.</summary>
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

    /// <summary>For how long it could have been spared, in milliseconds: no call is in it, and nobody proved
    /// who the client is. 0 for a connection that is needed, or that was a moment ago.</summary>
    public long Spare(long now)
    {
        long waited = now - Volatile.Read(ref _since);
        return _phase is ConnectionPhase.Binding or ConnectionPhase.Idle
            && !_isKnown && !_isGivenUp && !IsRefused
            && waited >= SpareAfter.TotalMilliseconds
                ? waited
                : 0;
    }

    /// <summary>Ends the connection if it can still be spared.</summary>
    public bool TryGiveUp(long now)
    {
        lock (_gate)
        {
            if (Spare(now) == 0)
            {
                return false;
            }

            // Under the gate, where no call begins.
            _isGivenUp = true;
            Retire();
            return true;
        }
    }

    /// <summary>Says that the connection counts no longer; true for the first who says so.</summary>
    public bool TryUncount() => Interlocked.Exchange(ref _uncounted, 1) == 0;

    /// <summary>Whether a handler of the interface runs here.</summary>
    public bool IsRunning(ServedInterface served)
    {
        lock (_gate)
        {
            return _running == served;
        }
    }

    /// <summary>Cancels the call if it is one of the interface, or of any when that is null.</summary>
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
        if (waited <= limit)
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

    // The connection's own thread sends the PDU:
    // a request that comes in this moment is still answered before it.
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

    // False at the end of what the client sends.
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
            // The time to bind counts from the connection, however many bytes and tokens trickle in.
            Volatile.Write(ref _since, _opened);
            _phase = ConnectionPhase.Binding;
            return step;
        }

        _isKnown = _listener.Endpoint.Transport != RpcTransport.Tcp || _association.Security.IsAuthenticated;
        bool moved = _seenPdus != _association.ReceivedPdus;
        _seenPdus = _association.ReceivedPdus;
        ConnectionPhase phase = _association.IsMidMessage ? ConnectionPhase.Receiving : ConnectionPhase.Idle;
        if (moved || phase != _phase)
        {
            Enter(phase);
        }

        return step;
    }

    private void HandleCall()
    {
        Exception? failure = null;
        if (BeginCall() is { } handler)
        {
            try
            {
                ValueTask task = handler(_call);
                if (!task.IsCompleted)
                {
                    task.AsTask().GetAwaiter().GetResult();
                }
                else
                {
                    task.GetAwaiter().GetResult();
                }
            }
            catch (Exception e)
            {
                failure = e;
            }

            CompleteCall(failure);
        }
    }

    private async ValueTask HandleCallAsync()
    {
        Exception? failure = null;
        if (BeginCall() is { } handler)
        {
            try
            {
                await handler(_call).ConfigureAwait(false);
            }
            catch (Exception e)
            {
                failure = e;
            }

            CompleteCall(failure);
        }
    }

    private ExecHandler? BeginCall()
    {
        ServedInterface? served = _listener.Find(_association.Interface);
        _call.Begin(_association.FindBufferedCancel());

        // The gate orders this against the withdrawal: it sees the call running, or this sees the withdrawal.
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

        _association.FaultCall(refusal, didNotExecute: true);
        return null;
    }

    // Refuses a call by the interface's own limits; one that is let in is counted until it completes.
    private uint Admit(ExecInterface service)
    {
        if (_association.Request.Length > service.MaxRequestBytes || !service.Gate.TryEnter(service.MaxCalls))
        {
            return FaultStatus.TooBusy;
        }

        _admitted = service.Gate;
        return 0;
    }

    private void CompleteCall(Exception? failure)
    {
        _admitted?.Leave();
        _admitted = null;
        lock (_gate)
        {
            // From here on the watch does not look at the socket any more.
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
        else
        {
            _association.CompleteCall(failure is null ? (uint)_call.ReturnCode : HandlerFailed);
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

    private void Close()
    {
        Enter(ConnectionPhase.Closing);
        while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            _transport.Send(bytes);
        }

        if (_association.LingersOnClose)
        {
            _transport.FinishSending();
            while (_transport.Receive(_association.GetFreeMemory()) > 0)
            {
                // Thrown away: the peer should get to reading the answer.
            }
        }
    }

    private async ValueTask CloseAsync()
    {
        Enter(ConnectionPhase.Closing);
        while (_association.TryTakeOutput(out ReadOnlyMemory<byte> bytes))
        {
            await _transport.SendAsync(bytes, default).ConfigureAwait(false);
        }

        if (_association.LingersOnClose)
        {
            _transport.FinishSending();
            while (await _transport.ReceiveAsync(_association.GetFreeMemory(), default)
                .ConfigureAwait(false) > 0)
            {
                // As above.
            }
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
            // It vanished; nobody will see the answer.
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
            // A socket that is closed in the middle of another thread's call on it is reset, and the client
            // loses what was sent last. Leave holds the gate for its call.
        }

        _transport.Dispose();
        _association.Dispose();
        _call.Dispose();
    }
}
