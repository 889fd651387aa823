using System.Collections.Concurrent;
using ProtoRpc.Server.Sessions;

namespace ProtoRpc;

/// <summary>What a server keeps for a caller between calls. Safe for use by many threads.</summary>
/// <remarks>Disposable values are disposed when the session ends,
/// or when they are replaced or removed. A session that has ended keeps nothing: values that are set then are
/// disposed at once.</remarks>
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

    /// <summary>The keys of what it holds.</summary>
    public ICollection<string> Keys => _items.Keys;

    /// <summary>How many values it holds.</summary>
    public int Count => _items.Count;

    /// <summary>Whose share of the table it takes: the user, or the network of an anonymous caller.</summary>
    internal string Holder { get; }

    // Milliseconds of the system's uptime, and calls that use it now; both under the table's lock.
    internal long LastUse { get; set; }

    internal int Uses { get; set; }

    // The later the last use, the higher. Many calls end within a millisecond.
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
    /// <returns>False when there is none.</returns>
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

    // What is to be disposed: the value before, or this one where the session has ended.
    private object? Replace(string key, object value)
    {
        long size =
            SessionSize.Of(key, _limits.MaxSessionBytes) + SessionSize.Of(value, _limits.MaxSessionBytes);
        lock (_gate)
        {
            if (_hasEnded)
            {
                // A handler that still runs has set it. Nobody would dispose it later.
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
                // One value that cannot be disposed must not keep the others alive.
            }
        }
    }
}
