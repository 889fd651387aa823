using System.Security.Cryptography;

namespace ProtoRpc.Server.Sessions;

/// <summary>The sessions of a server: made here alone, bound to their callers, ended when idle.</summary>
internal sealed class SessionTable(RpcLimits limits) : IDisposable
{
    private static readonly TimeSpan SweepPeriod = TimeSpan.FromSeconds(1);

    private readonly Dictionary<Guid, RpcSession> _sessions = [];
    private readonly Lock _gate = new();
    private Timer? _sweep;
    private bool _disposed;

    /// <summary>The sessions there are now.</summary>
    public IReadOnlyList<RpcSession> Sessions
    {
        get
        {
            lock (_gate)
            {
                return [.. _sessions.Values];
            }
        }
    }

    /// <summary>The caller's session for the length of a call: the one it names, or a new one.</summary>
    /// <param name="id">What the caller sent; an id that is not known, or no longer, is not taken up.</param>
    /// <param name="owner">The caller.</param>
    /// <exception cref="RpcException">PermissionDenied for a session of somebody else; ResourceExhausted when
    /// there are as many as there may be.</exception>
    public RpcSession Use(Guid? id, string owner)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (id is { } known && _sessions.TryGetValue(known, out RpcSession? session))
            {
                RequireOwner(session, owner);
            }
            else
            {
                session = Create(owner);
            }

            session.Uses++;
            return session;
        }
    }

    /// <summary>The session with an id for the length of a call; null for none.</summary>
    /// <exception cref="RpcException">PermissionDenied: the session belongs to another caller.</exception>
    public RpcSession? Find(Guid id, string owner)
    {
        lock (_gate)
        {
            if (!_sessions.TryGetValue(id, out RpcSession? session))
            {
                return null;
            }

            RequireOwner(session, owner);
            session.Uses++;
            return session;
        }
    }

    /// <summary>Ends the use of a session by a call.</summary>
    public void Release(RpcSession session)
    {
        lock (_gate)
        {
            session.Uses--;
            session.LastUse = Environment.TickCount64;
        }
    }

    /// <summary>Ends a session that the caller owns.</summary>
    /// <returns>False when there is none of that id.</returns>
    /// <exception cref="RpcException">PermissionDenied for a session of somebody else.</exception>
    public bool Close(Guid id, string owner)
    {
        lock (_gate)
        {
            if (!_sessions.TryGetValue(id, out RpcSession? session))
            {
                return false;
            }

            RequireOwner(session, owner);
        }

        return Remove(id);
    }

    /// <summary>Ends a session of any caller.</summary>
    /// <returns>False if no session has this id.</returns>
    public bool Remove(Guid id)
    {
        RpcSession? session;
        lock (_gate)
        {
            if (!_sessions.Remove(id, out session))
            {
                return false;
            }
        }

        // Outside the lock: what is disposed here is the application's, and may take its time.
        session.End();
        return true;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        RpcSession[] left;
        lock (_gate)
        {
            _disposed = true;
            _sweep?.Dispose();
            left = [.. _sessions.Values];
            _sessions.Clear();
        }

        foreach (RpcSession session in left)
        {
            session.End();
        }
    }

    /// <summary>Ends the sessions that were idle for too long.</summary>
    internal void Sweep()
    {
        if (limits.SessionIdleTimeout == Timeout.InfiniteTimeSpan)
        {
            return;
        }

        RpcSession[] idle;
        lock (_gate)
        {
            idle = [.. _sessions.Values.Where(s => s.Uses == 0 && s.Idle > limits.SessionIdleTimeout)];
            foreach (RpcSession session in idle)
            {
                _sessions.Remove(session.Id);
            }
        }

        foreach (RpcSession session in idle)
        {
            session.End();
        }
    }

    private static void RequireOwner(RpcSession session, string owner)
    {
        if (session.Owner != owner)
        {
            throw new RpcException(
                RpcStatusCode.PermissionDenied,
                "The session belongs to another caller; call without the session to get a new one.")
            {
                ErrorId = RpcErrorIds.ForeignSession,
            };
        }
    }

    private RpcSession Create(string owner)
    {
        if (_sessions.Count >= limits.MaxSessions)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The server keeps {limits.MaxSessions} sessions, which is its limit "
                + $"({nameof(RpcLimits)}.{nameof(RpcLimits.MaxSessions)}).");
        }

        // 128 random bits: not a version-4 UUID, whose fixed bits would only help a guesser.
        Guid id = new(RandomNumberGenerator.GetBytes(16));
        RpcSession session = new(id, owner, limits);
        _sessions.Add(id, session);
        _sweep ??= new Timer(static table => ((SessionTable)table!).Sweep(), this, SweepPeriod, SweepPeriod);
        return session;
    }
}
