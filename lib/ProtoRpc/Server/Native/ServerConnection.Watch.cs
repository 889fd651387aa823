using ProtoRpc.Protocols.Dce;

namespace ProtoRpc.Server.Native;

// What other threads do to a connection: the listener's watch, its stop, and the withdrawal of an interface.
internal sealed partial class ServerConnection
{
    private const int PeekSize = 64;
    private static readonly TimeSpan PeekAfter = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan SpareAfter = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LingerTime = TimeSpan.FromSeconds(2);

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

    /// <summary>How long the connection has been idle and anonymous, in milliseconds. 0 for a connection
    /// with a running call or an authenticated client.</summary>
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

/// <summary>What a server's connection is doing, as its listener's watch sees it.</summary>
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

    /// <summary>Everything is said; waiting for the client's end.</summary>
    Closing,
}
