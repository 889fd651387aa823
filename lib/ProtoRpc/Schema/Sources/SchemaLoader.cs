using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Schema.Sources;

/// <summary>Makes one schema of all that some locations have.</summary>
internal static class SchemaLoader
{
    /// <summary>The sources that read files, in the order in which their files are merged.</summary>
    public static IReadOnlyList<SchemaSource> Files { get; } = [new ProtoSource(), new DescriptorSetSource()];

    /// <summary>The endings of files that are read, for error messages.</summary>
    public static string Endings { get; } = string.Join(", ", Files.SelectMany(source => source.Endings));

    /// <summary>Whether the ending of a file is one that is read.</summary>
    public static bool IsKnown(string path) => Files.Any(source => source.Reads(path));

    /// <summary>Whether a path is that of a folder.</summary>
    public static bool IsFolder(string path, string baseFolder) =>
        Directory.Exists(Path.GetFullPath(path, baseFolder));

    /// <summary>Loads a schema.</summary>
    /// <param name="locations">Paths of files, which may have wildcards,
    /// and what else a source takes.</param>
    /// <param name="sources">The sources that may be used, in the order in which their files are
    /// merged.</param>
    /// <param name="request">What belongs to all locations.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">InvalidArgument or NotFound, and what a source fails with.</exception>
    public static async Task<RpcSchema> LoadAsync(
        IEnumerable<string> locations,
        IReadOnlyList<SchemaSource> sources,
        SchemaRequest request,
        CancellationToken cancellation)
    {
        List<FoundFile> found =
        [
            .. locations.SelectMany(location => Find(location, sources, request.BaseFolder))
                .GroupBy(file => file.Location.FullPath)
                // The errors of a file that is also named are errors.
                .Select(same => same.FirstOrDefault(file => !file.Location.IsMatched) ?? same.First()),
        ];
        if (found.Count == 0)
        {
            throw SchemaError.Invalid($"No schema file is given; give one or more of {Endings}.");
        }

        DescriptorFileMerge merge = new();
        List<string> warnings = [];
        List<string> leftOut = [];
        List<string> paths = [];
        RpcException? failure = null;
        foreach (SchemaSource source in sources)
        {
            SourceFile[] own = [.. found.Where(file => file.Source == source).Select(file => file.Location)];
            if (own.Length == 0)
            {
                continue;
            }

            foreach (SchemaPart part in await source.ReadAsync(own, request, cancellation)
                .ConfigureAwait(false))
            {
                merge.Add(part.Files, part.RootFiles, part.Label);
                warnings.AddRange(part.Warnings);
                leftOut.AddRange(part.LeftOut);
                paths.AddRange(part.Paths);
                failure ??= part.Failure;
            }
        }

        if (merge.RootFiles.Count == 0 && failure is not null)
        {
            throw failure;
        }

        return new RpcSchema(DescriptorLinker.Link(merge.Files), merge.RootFiles, [.. leftOut, .. warnings])
        {
            LeftOut = leftOut,
            SourcePaths = paths,
        };
    }

    private static IEnumerable<FoundFile> Find(
        string location, IReadOnlyList<SchemaSource> sources, string baseFolder) =>
        sources.FirstOrDefault(source => source.Takes(location)) is { } taker
            ? [new FoundFile(taker, new SourceFile(location, location))]
            : PathPattern.Expand(location, baseFolder)
                .Select(file => new FoundFile(sources.First(source => source.Reads(file.FullPath)), file));

    // Not a struct: code for lists of a struct is compiled when it first runs, and delays the first Tab.
    private sealed record FoundFile(SchemaSource Source, SourceFile Location);
}
