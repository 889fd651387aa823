using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace ProtoRpc.Server.Sessions;

/// <summary>The sessions of a server: made here alone, bound to their callers, ended when idle. Each caller
/// has a share of them, so that nobody can take them all.</summary>
internal sealed class SessionTable(RpcLimits limits) : IDisposable
{
    private static readonly TimeSpan SweepPeriod = TimeSpan.FromSeconds(1);

    private readonly Dictionary<Guid, RpcSession> _sessions = [];
    private readonly Dictionary<string, List<RpcSession>> _shares = [];
    private readonly Lock _gate = new();
    private long _turns;
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
    /// <param name="holder">Whose share of the table a new one takes; null for the owner's.</param>
    /// <exception cref="RpcException">PermissionDenied for a session of somebody else; ResourceExhausted when
    /// there are as many as there may be, and calls use them all.</exception>
    public RpcSession Use(Guid? id, string owner, string? holder = null)
    {
        RpcSession? session;
        RpcSession? replaced = null;
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (id is { } known && _sessions.TryGetValue(known, out session))
            {
                RequireOwner(session, owner);
            }
            else
            {
                replaced = MakeRoom(holder ?? owner);
                session = Create(owner, holder ?? owner);
            }

            session.Uses++;
        }

        // Outside the lock: what is disposed here is the application's, and may take its time.
        replaced?.End();
        return session;
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
            session.Turn = ++_turns;
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
            if (!_sessions.TryGetValue(id, out session))
            {
                return false;
            }

            Forget(session);
        }

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
            _shares.Clear();
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
            Array.ForEach(idle, Forget);
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

    // The longest idle session of a caller gives way to a new one of the same caller. If all callers together
    // have too many, the longest idle session of those with the most gives way.
    private RpcSession? MakeRoom(string holder)
    {
        IEnumerable<RpcSession> own = _shares.GetValueOrDefault(holder) ?? [];
        bool isShareFull = own.Count() >= limits.MaxSessionsPerCaller;
        if (!isShareFull && _sessions.Count < limits.MaxSessions)
        {
            return null;
        }

        RpcSession? longest = (isShareFull ? own : _shares.Values.SelectMany(static share => share))
            .Where(static session => session.Uses == 0)
            .MinBy(session => (-_shares[session.Holder].Count, session.Turn));
        if (longest is null)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                isShareFull
                    ? $"Running calls of this caller use {limits.MaxSessionsPerCaller} sessions, which is "
                        + $"the limit ({nameof(RpcLimits)}.{nameof(RpcLimits.MaxSessionsPerCaller)})."
                    : $"Running calls use {limits.MaxSessions} sessions, which is the limit of the server "
                        + $"({nameof(RpcLimits)}.{nameof(RpcLimits.MaxSessions)}).");
        }

        Forget(longest);
        return longest;
    }

    private RpcSession Create(string owner, string holder)
    {
        // 128 random bits: not a version-4 UUID, whose fixed bits would only help a guesser.
        Guid id = new(RandomNumberGenerator.GetBytes(16));
        RpcSession session = new(id, owner, limits, holder) { Turn = ++_turns };
        _sessions.Add(id, session);
        (CollectionsMarshal.GetValueRefOrAddDefault(_shares, holder, out _) ??= []).Add(session);
        _sweep ??= new Timer(static table => ((SessionTable)table!).Sweep(), this, SweepPeriod, SweepPeriod);
        return session;
    }

    private void Forget(RpcSession session)
    {
        _sessions.Remove(session.Id);
        List<RpcSession> share = _shares[session.Holder];
        share.Remove(session);
        if (share.Count == 0)
        {
            _shares.Remove(session.Holder);
        }
    }
}
