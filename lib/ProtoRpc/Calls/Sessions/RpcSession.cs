using System.Collections.Concurrent;

namespace ProtoRpc.Calls.Sessions;

/// <summary>What a server keeps for a caller between calls. Safe for use by many threads.</summary>
/// <remarks>Disposable values are disposed when the session ends,
/// or when they are replaced or removed.</remarks>
public sealed class RpcSession
{
    private readonly ConcurrentDictionary<string, object> _items = new(StringComparer.Ordinal);
    private readonly int _maxItems;

    internal RpcSession(Guid id, string owner, int maxItems)
    {
        Id = id;
        Owner = owner;
        _maxItems = maxItems;
        Created = DateTimeOffset.Now;
        LastUse = Environment.TickCount64;
    }

    /// <summary>The random id that the server made; the caller's only key to the session.</summary>
    public Guid Id { get; }

    /// <summary>The caller who got the session; nobody else can use it.</summary>
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

    // Milliseconds of the system's uptime, and calls that use it now; both under the table's lock.
    internal long LastUse { get; set; }

    internal int Uses { get; set; }

    /// <summary>A value by key; null where there is none, and to remove one.</summary>
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

            if (_items.Count >= _maxItems && !_items.ContainsKey(key))
            {
                throw new RpcException(
                    RpcStatusCode.ResourceExhausted,
                    $"The session holds {_maxItems} values, as many as it may.");
            }

            object? old = null;
            _items.AddOrUpdate(key, value, (_, was) =>
            {
                old = was;
                return value;
            });
            if (!ReferenceEquals(old, value))
            {
                (old as IDisposable)?.Dispose();
            }
        }
    }

    /// <summary>Removes a value, and disposes it.</summary>
    /// <returns>False when there is none.</returns>
    public bool Remove(string key)
    {
        bool removed = _items.TryRemove(key, out object? value);
        (value as IDisposable)?.Dispose();
        return removed;
    }

    internal void End()
    {
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
