namespace ProtoRpc.Schema.Sources;

/// <summary>The state of a schema's files, and of the folders that were searched for them, to detect later
/// changes.</summary>
internal sealed class SchemaStamp
{
    // The system updates its time for files only at each tick, so times are this exact.
    private static readonly TimeSpan Granularity = TimeSpan.FromMilliseconds(50);

    private readonly Dictionary<string, FileState> _states;

    private SchemaStamp(Dictionary<string, FileState> states) => _states = states;

    /// <summary>Whether no file was changed, deleted, or added to a searched folder.</summary>
    public bool IsCurrent => _states.All(pair => StateOf(pair.Key) == pair.Value);

    /// <summary>The stamp of a schema that was just read.</summary>
    /// <param name="schema">The schema.</param>
    /// <param name="begin">When reading began. A file with this time may have been changed after it was
    /// read.</param>
    /// <param name="searched">Folders of which all files were asked for.</param>
    /// <returns>Null if a file may have changed since it was read.</returns>
    public static SchemaStamp? Create(RpcSchema schema, DateTime begin, IReadOnlyCollection<string> searched)
    {
        IEnumerable<string> folders = searched.SelectMany(FolderTree.Enumerate);
        Dictionary<string, FileState> states = schema.SourcePaths.Concat(folders)
            .Distinct(StringComparer.Ordinal)
            .ToDictionary(path => path, StateOf, StringComparer.Ordinal);
        return states.Count > 0 && states.Values.All(state => state.Changed < begin - Granularity)
            ? new SchemaStamp(states)
            : null;
    }

    private static FileState StateOf(string path)
    {
        FileInfo file = new(path);
        return file.Exists ? new(file.LastWriteTimeUtc, file.Length)
            : new(Directory.Exists(path) ? Directory.GetLastWriteTimeUtc(path) : DateTime.MinValue, -1);
    }

    // A class, because the runtime compiles code for a dictionary of a struct when it first runs.
    private sealed record FileState(DateTime Changed, long Length);
}
