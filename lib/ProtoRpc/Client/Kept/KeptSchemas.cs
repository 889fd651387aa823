using ProtoRpc.Schema.Sources;

namespace ProtoRpc.Client.Kept;

/// <summary>Schemas that were read from files, for as long as the files stay as they were. Safe for use by
/// many threads.</summary>
internal sealed class KeptSchemas
{
    private const int MaxSchemas = 32;

    private readonly Lock _gate = new();
    private readonly LinkedList<Entry> _entries = [];

    /// <summary>The schema of some files.</summary>
    /// <param name="paths">Full paths of files and folders, and paths with wildcards, which are always read
    /// again.</param>
    /// <param name="load">Reads it.</param>
    /// <exception cref="RpcException">What loading fails with.</exception>
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
        string[] folders = [.. paths.Where(path => SchemaLoader.IsFolder(path, "/"))];
        if (!paths.Any(path => path.AsSpan().IndexOfAny('*', '?') >= 0)
            && SchemaStamp.Of(schema, begin, folders) is { } stamp)
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

    private sealed record Entry(string Key, RpcSchema Schema, SchemaStamp Stamp);
}
