namespace ProtoRpc.Schema.Sources;

/// <summary>A kind of place that schemas are read from: a row of the table of sources.</summary>
/// <remarks>A source reads files of some endings, or it takes locations that are not files.</remarks>
internal abstract class SchemaSource
{
    /// <summary>The endings of the files that it reads, with their dots.</summary>
    public virtual IReadOnlyList<string> Endings => [];

    /// <summary>Whether a location is not a file and is read by this source.</summary>
    public virtual bool Takes(string location) => false;

    /// <summary>Reads all locations of this kind that one schema is made of.</summary>
    /// <param name="locations">Files, or the locations that <see cref="Takes"/> accepted.</param>
    /// <param name="request">Where files are looked for.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">They cannot be read, or are no schema.</exception>
    public abstract Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation);

    /// <summary>Whether the ending of a file is one of this source's.</summary>
    public bool Reads(string path) => Endings.Any(
        ending => path.EndsWith(ending, StringComparison.OrdinalIgnoreCase));
}
