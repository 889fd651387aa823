using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Client.Schemas;

/// <summary>Keeps schemas: those of files until the files change, and those of servers for some time.
/// Thread-safe.</summary>
/// <param name="time">The clock.</param>
internal sealed class SchemaCache(TimeProvider time)
{
    private const int MaxSchemas = 32;

    private readonly Lock _gate = new();
    private readonly LinkedList<Entry> _entries = [];
    private readonly LinkedList<FetchedEntry> _fetched = [];

    /// <summary>The schema of servers.</summary>
    /// <param name="addresses">The addresses of the servers.</param>
    /// <param name="contacts">The key for connecting to each server, because servers may show different
    /// schemas to different identities.</param>
    /// <param name="fetch">Fetches the schema.</param>
    /// <exception cref="RpcException">Fetching failed.</exception>
    public RpcSchema Find(
        IReadOnlyCollection<string> addresses, IReadOnlyList<ClientKey> contacts, Func<RpcSchema> fetch)
    {
        string key = string.Join('\0', addresses);
        lock (_gate)
        {
            while (_fetched.Last is { Value: var last }
                && time.GetElapsedTime(last.Time) >= ClientPool.DefaultIdleTimeout)
            {
                _fetched.RemoveLast();
            }

            if (_fetched.FirstOrDefault(entry => entry.Key == key && entry.Contacts.SequenceEqual(contacts))
                is { } known)
            {
                return known.Schema;
            }
        }

        FetchedEntry fetched = new(key, contacts, fetch(), time.GetTimestamp());
        lock (_gate)
        {
            _fetched.AddFirst(fetched);
            if (_fetched.Count > MaxSchemas)
            {
                _fetched.RemoveLast();
            }
        }

        return fetched.Schema;
    }

    /// <summary>The schema of files.</summary>
    /// <param name="paths">Full paths of files and folders. Paths with wildcards are always read
    /// again.</param>
    /// <param name="load">Loads the schema.</param>
    /// <exception cref="RpcException">Loading failed.</exception>
    public RpcSchema Find(IReadOnlyCollection<string> paths, Func<RpcSchema> load)
    {
        string key = string.Join('\0', paths);
        lock (_gate)
        {
            if (_entries.FirstOrDefault(entry => entry.Key == key) is { } known)
            {
                _entries.Remove(known);
                if (known.Stamp.IsCurrent)
                {
                    _entries.AddFirst(known);
                    return known.Schema;
                }
            }
        }

        DateTime begin = DateTime.UtcNow;
        RpcSchema schema = load();
        string[] folders =
            [.. paths.Where(path => SchemaLoader.IsFolder(path, Environment.CurrentDirectory))];
        if (!paths.Any(path => path.AsSpan().IndexOfAny('*', '?') >= 0)
            && SchemaStamp.Create(schema, begin, folders) is { } stamp)
        {
            lock (_gate)
            {
                _entries.AddFirst(new Entry(key, schema, stamp));
                if (_entries.Count > MaxSchemas)
                {
                    _entries.RemoveLast();
                }
            }
        }

        return schema;
    }

    private sealed record FetchedEntry(
        string Key, IReadOnlyList<ClientKey> Contacts, RpcSchema Schema, long Time);

    private sealed record Entry(string Key, RpcSchema Schema, SchemaStamp Stamp);
}
