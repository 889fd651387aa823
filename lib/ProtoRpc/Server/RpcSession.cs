using System.Collections;
using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace ProtoRpc;

/// <summary>Values that a server stores for a caller between calls. Thread-safe.</summary>
/// <remarks>Disposable values are disposed when the session ends, or when they are replaced or removed. An
/// ended session stores nothing: values that are set then are disposed immediately.</remarks>
public sealed class RpcSession
{
    private readonly ConcurrentDictionary<string, object> _items = new(StringComparer.Ordinal);
    private readonly Lock _gate = new();
    private readonly Dictionary<string, long> _sizes = [];
    private readonly RpcLimits _limits;
    private long _size;
    private bool _hasEnded;

    internal RpcSession(Guid id, string owner, RpcLimits limits, string? holder = null)
    {
        Id = id;
        Owner = owner;
        Holder = holder ?? owner;
        _limits = limits;
        Created = DateTimeOffset.Now;
        LastUse = Environment.TickCount64;
    }

    /// <summary>The random id that the server made; the caller's only key to the session.</summary>
    public Guid Id { get; }

    /// <summary>The owner of the session; other callers cannot use it.</summary>
    public string Owner { get; }

    /// <summary>When it began.</summary>
    public DateTimeOffset Created { get; }

    /// <summary>How long ago a call used it last.</summary>
    public TimeSpan Idle =>
        Uses > 0 ? TimeSpan.Zero : TimeSpan.FromMilliseconds(Environment.TickCount64 - LastUse);

    /// <summary>The keys of the values.</summary>
    public ICollection<string> Keys => _items.Keys;

    /// <summary>The number of values.</summary>
    public int Count => _items.Count;

    /// <summary>The caller whose limits apply: the user, or the network of an anonymous caller.</summary>
    internal string Holder { get; }

    // LastUse is in milliseconds of the system's uptime; Uses is the number of calls that use the session
    // now. Both are guarded by the table's lock.
    internal long LastUse { get; set; }

    internal int Uses { get; set; }

    // A number that grows with each use. LastUse does not order calls that end within the same millisecond.
    internal long Turn { get; set; }

    /// <summary>A value by key; null for none. Set null to remove the value.</summary>
    /// <remarks>The size of a value is measured when it is set; later changes are not counted.</remarks>
    /// <exception cref="RpcException">ResourceExhausted when the session is full.</exception>
    public object? this[string key]
    {
        get => _items.GetValueOrDefault(key);
        set
        {
            ArgumentNullException.ThrowIfNull(key);
            if (value is null)
            {
                Remove(key);
                return;
            }

            (Replace(key, value) as IDisposable)?.Dispose();
        }
    }

    /// <summary>Removes a value, and disposes it.</summary>
    /// <returns>False if there is no such value.</returns>
    public bool Remove(string key)
    {
        bool removed;
        object? value;
        lock (_gate)
        {
            removed = _items.TryRemove(key, out value);
            if (_sizes.Remove(key, out long size))
            {
                _size -= size;
            }
        }

        (value as IDisposable)?.Dispose();
        return removed;
    }

    // Returns the value to dispose: the previous one, or the new one if the session has ended.
    private object? Replace(string key, object value)
    {
        long size =
            SessionSize.Measure(
                key, _limits.MaxSessionBytes) + SessionSize.Measure(value, _limits.MaxSessionBytes);
        lock (_gate)
        {
            if (_hasEnded)
            {
                // A handler still runs and sets the value after End has disposed all values.
                return value;
            }

            bool isKnown = _items.TryGetValue(key, out object? old);
            if (!isKnown && _items.Count >= _limits.MaxSessionItems)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted,
                    $"The session holds {_limits.MaxSessionItems} values, which is its limit "
                    + $"({nameof(RpcLimits)}.{nameof(RpcLimits.MaxSessionItems)}).");
            }

            long total = _size - _sizes.GetValueOrDefault(key) + size;
            if (total > _limits.MaxSessionBytes)
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted,
                    $"With '{key}' the session would hold more than {_limits.MaxSessionBytes:N0} bytes. "
                    + $"Remove values from it, or "
                    + $"raise {nameof(RpcLimits)}.{nameof(RpcLimits.MaxSessionBytes)}.");
            }

            _size = total;
            _sizes[key] = size;
            _items[key] = value;
            return ReferenceEquals(old, value) ? null : old;
        }
    }

    internal void End()
    {
        lock (_gate)
        {
            _hasEnded = true;
        }

        foreach (string key in _items.Keys)
        {
            try
            {
                Remove(key);
            }
            catch (Exception)
            {
                // If a value's Dispose throws, the other values must still be disposed.
            }
        }
    }
}

/// <summary>The sessions of a server. Only the server creates sessions, each belongs to one caller, and idle
/// ones end. The number of sessions per caller is limited.</summary>
internal sealed class SessionTable(RpcLimits limits) : IDisposable
{
    private static readonly TimeSpan SweepPeriod = TimeSpan.FromSeconds(1);

    private readonly Dictionary<Guid, RpcSession> _sessions = [];
    private readonly Dictionary<string, List<RpcSession>> _shares = [];
    private readonly Lock _gate = new();
    private long _turns;
    private Timer? _sweep;
    private bool _disposed;

    /// <summary>The current sessions.</summary>
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
    /// <param name="id">The id that the caller sent. An unknown or expired id is ignored.</param>
    /// <param name="owner">The caller.</param>
    /// <param name="holder">The caller whose limits apply to a new session; null for the owner.</param>
    /// <exception cref="RpcException">PermissionDenied: the session belongs to another caller.
    /// ResourceExhausted: the limit of sessions is reached, and calls use all of them.</exception>
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

        // Outside the lock, because Dispose of the application's values may take long.
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
    /// <returns>False if no session has the id.</returns>
    /// <exception cref="RpcException">PermissionDenied: the session belongs to another caller.</exception>
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
                RpcStatusCode.PermissionDenied, RpcErrorIds.ForeignSession,
                "The session belongs to another caller; call without the session to get a new one.")
            {
                IsOfCaller = true,
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

/// <summary>Estimates the size of a value in a session.</summary>
internal static class SessionSize
{
    // The size of an object of an unknown type: only its own fields are assumed, not the objects that it
    // refers to.
    private const int OfObject = 64;
    private const int MaxDepth = 32;

    /// <summary>Counts texts, arrays, messages and collections of these; others count as 64 bytes.</summary>
    /// <param name="value">The value.</param>
    /// <param name="max">Above this, counting ends.</param>
    public static long Measure(object? value, long max) => Measure(value, max, depth: 0);

    private static long Measure(object? value, long max, int depth) => value switch
    {
        null => 0,
        string text => OfObject + ((long)text.Length * sizeof(char)),
        byte[] bytes => OfObject + bytes.LongLength,
        IMessage message => OfObject + message.CalculateSize(),
        Array { Rank: 1 } array when array.GetType().GetElementType()!.IsPrimitive =>
            OfObject + Buffer.ByteLength(array),
        IDictionary pairs when depth < MaxDepth => OfPairs(pairs, max, depth),
        ICollection items when depth < MaxDepth => OfItems(items, max, depth),
        _ => OfObject,
    };

    private static long OfPairs(IDictionary pairs, long max, int depth)
    {
        long size = OfObject;
        foreach (DictionaryEntry pair in pairs)
        {
            size += Measure(pair.Key, max, depth + 1) + Measure(pair.Value, max, depth + 1);
            if (size > max)
            {
                break;
            }
        }

        return size;
    }

    private static long OfItems(ICollection items, long max, int depth)
    {
        long size = OfObject;
        foreach (object? item in items)
        {
            size += IntPtr.Size + Measure(item, max, depth + 1);
            if (size > max)
            {
                break;
            }
        }

        return size;
    }
}
