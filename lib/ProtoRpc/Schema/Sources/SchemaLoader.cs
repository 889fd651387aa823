using System.IO.Enumeration;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema.Sources;

/// <summary>Makes one schema of all that some locations have.</summary>
internal static class SchemaLoader
{
    /// <summary>The sources that read files, in the order in which their files are merged.</summary>
    public static IReadOnlyList<SchemaSource> Files { get; } = [new ProtoSource(), new DescriptorSetSource()];

    /// <summary>The endings of files that are read, for error messages.</summary>
    public static string Endings { get; } = string.Join(", ", Files.SelectMany(source => source.Endings));

    /// <summary>Whether files with this extension are supported.</summary>
    public static bool IsKnown(string path) => Files.Any(source => source.Reads(path));

    /// <summary>Whether a wildcard matches a file of a known ending.</summary>
    /// <param name="path">The file.</param>
    /// <param name="pattern">The path with the wildcard.</param>
    public static bool IsMatched(string path, string pattern) =>
        Files.FirstOrDefault(source => source.Reads(path)) is { } source
        && source.SharedEndings.All(ending =>
            !path.EndsWith(ending, StringComparison.OrdinalIgnoreCase)
            || pattern.EndsWith(ending, StringComparison.OrdinalIgnoreCase));

    public static bool IsFolder(string path, string baseFolder) =>
        Directory.Exists(Path.GetFullPath(path, baseFolder));

    /// <summary>The folder of a location, as it is or in an import path; null for none.</summary>
    public static string? FindFolder(string location, SchemaRequest request) =>
        SearchPath.Candidates(location, request).FirstOrDefault(path => IsFolder(path, request.BaseFolder));

    /// <summary>Loads a schema.</summary>
    /// <param name="locations">Paths of files, possibly with wildcards, and the other locations that a source
    /// accepts.</param>
    /// <param name="sources">The sources that may be used, in the order in which their files are
    /// merged.</param>
    /// <param name="request">The settings for all locations.</param>
    /// <param name="cancellation">Gives up.</param>
    /// <exception cref="RpcException">InvalidArgument or NotFound, or the error of a source.</exception>
    public static async Task<RpcSchema> LoadAsync(
        IEnumerable<string> locations,
        IReadOnlyList<SchemaSource> sources,
        SchemaRequest request,
        CancellationToken cancellation)
    {
        List<FoundFile> found =
        [
            .. locations.SelectMany(location => Find(location, sources, request))
                .GroupBy(file => file.Location.FullPath)
                // A file can be named and also match a wildcard. The entry for the name is used, because its
                // errors are not ignored.
                .Select(same => same.FirstOrDefault(file => !file.Location.IsMatched) ?? same.First()),
        ];
        if (found.Count == 0)
        {
            throw SchemaError.Invalid($"No schema file is given; give one or more of {Endings}.");
        }

        DescriptorFileMerge merge = new();
        List<string> warnings = [];
        List<string> leftOut = [];
        List<string> leftOutOptions = [];
        List<string> paths = [];
        List<ServerFiles> servers = [];
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
                leftOutOptions.AddRange(part.LeftOutOptions);
                paths.AddRange(part.Paths);
                servers.AddRange(part.Found is { } sent ? [sent] : []);
                failure ??= part.Failure;
            }
        }

        if (merge.RootFiles.Count == 0 && failure is not null)
        {
            throw failure;
        }

        string[] losses = [.. leftOut, .. leftOutOptions];
        warnings.InsertRange(0, losses);
        if (servers.Count > 0)
        {
            return ForgivingLinker.Link(
                ServerFiles.Merge(merge, servers, warnings), cancellation);
        }

        return new RpcSchema(DescriptorLinker.Link(merge.Files), merge.RootFiles, warnings)
        {
            LeftOut = leftOut,
            Losses = losses,
            SourcePaths = paths,
        };
    }

    private static IEnumerable<FoundFile> Find(
        string location, IReadOnlyList<SchemaSource> sources, SchemaRequest request) =>
        sources.FirstOrDefault(source => source.Takes(location)) is { } taker
            ? [new FoundFile(taker, new SourceFile(location, location))]
            : SearchPath.Expand(location, request)
                .Select(file => new FoundFile(sources.First(source => source.Reads(file.FullPath)), file));

    // A class, because the runtime compiles code for lists of a struct when it first runs, which delays the
    // first completion.
    private sealed record FoundFile(SchemaSource Source, SourceFile Location);
}

/// <summary>Looks for schema files in the current folder and then in the import paths, as protoc does.
/// </summary>
internal static class SearchPath
{
    /// <summary>The possible paths of a location: itself and, if it is a relative name, the file in each
    /// import path.</summary>
    public static IEnumerable<string> Candidates(string location, SchemaRequest request)
    {
        bool isName = location.Length > 0 && !Path.IsPathRooted(location)
            && !location.Split('/', Path.DirectorySeparatorChar).Any(part => part is "." or "..");
        return [location, .. isName ? request.ImportPaths.Select(path => Path.Combine(path, location)) : []];
    }

    /// <summary>The files of the first of these paths that has some.</summary>
    /// <exception cref="RpcException">NotFound for no file; InvalidArgument for a folder or an unknown
    /// ending.</exception>
    public static IReadOnlyList<SourceFile> Expand(string location, SchemaRequest request)
    {
        RpcException? missing = null;
        foreach (string path in Candidates(location, request))
        {
            try
            {
                return PathPattern.Expand(path, request.BaseFolder);
            }
            catch (RpcException e) when (e.ErrorId == RpcErrorIds.SchemaNotFound)
            {
                missing ??= e;
            }
        }

        string[] searched = [.. Candidates(location, request).Skip(1).Select(path => $"'{path}'")];
        throw searched.Length == 0
            ? missing!
            : missing!.WithText($"{missing.Message} Also searched: {string.Join(", ", searched)}.");
    }
}

/// <summary>Finds the schema files that a path with wildcards means.</summary>
internal static class PathPattern
{
    /// <summary>The files of a path: itself, or those that its <c>*</c>,
    /// <c>?</c> and <c>**</c> match, sorted.
    /// </summary>
    /// <param name="pattern">A path as the user wrote it.</param>
    /// <param name="baseFolder">The base of a relative path.</param>
    /// <exception cref="RpcException">NotFound for no file;
    /// InvalidArgument for a folder or an unknown ending.
    /// </exception>
    public static IReadOnlyList<SourceFile> Expand(string pattern, string baseFolder)
    {
        if (string.IsNullOrWhiteSpace(pattern) || pattern.Contains('\0'))
        {
            throw SchemaError.Invalid("A schema path is empty.");
        }

        string full = Path.GetFullPath(pattern, baseFolder);
        if (File.Exists(full))
        {
            return SchemaLoader.IsKnown(full)
                ? [new SourceFile(pattern, full)]
                : throw SchemaError.Invalid(
                    $"'{pattern}' does not end as the file of a schema; use {SchemaLoader.Endings}.");
        }

        if (Directory.Exists(full))
        {
            string example = Path.Combine(pattern, "*.proto");
            throw SchemaError.Invalid(
                $"'{pattern}' is a folder; write '{example}' for the .proto files in it.");
        }

        bool isPattern = pattern.AsSpan().IndexOfAny('*', '?') >= 0;
        if (!isPattern)
        {
            throw SchemaError.FileNotFound($"There is no schema file {Named(pattern, full)}.");
        }

        SourceFile[] found =
        [
            .. Match(full)
                .Where(file => SchemaLoader.IsMatched(file, full))
                .Order(StringComparer.Ordinal)
                .Select(f => new SourceFile(Given(f, pattern, baseFolder), f) { IsMatched = true }),
        ];
        return found.Length > 0
            ? found
            : throw SchemaError.FileNotFound(
                $"No schema file ({SchemaLoader.Endings}) matches {Named(pattern, full)}.");
    }

    // Errors show a relative path with its full path.
    private static string Named(string pattern, string full) =>
        pattern == full ? $"'{full}'" : $"'{pattern}' ({full})";

    private static string Given(string file, string pattern, string baseFolder) =>
        Path.IsPathRooted(pattern) ? file : Path.GetRelativePath(baseFolder, file);

    private static IEnumerable<string> Match(string pattern)
    {
        string root = Path.GetPathRoot(pattern)!;
        string[] parts = pattern[root.Length..].Split(
            [Path.DirectorySeparatorChar, Path.AltDirectorySeparatorChar],
            StringSplitOptions.RemoveEmptyEntries);
        try
        {
            IEnumerable<string> folders = [root];
            foreach (string part in parts[..^1])
            {
                folders = [.. folders.SelectMany(f => Folders(f, part)).Distinct(StringComparer.Ordinal)];
            }

            // ** as the last part matches all files below.
            return parts[^1] == "**"
                ? [.. folders.SelectMany(f => Folders(f, "**")).SelectMany(f => Directory.EnumerateFiles(f))]
                : [.. folders.SelectMany(Directory.EnumerateFiles).Where(f => Matches(parts[^1], f))];
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.FileNotFound($"Cannot look for '{pattern}': {e.Message}");
        }
    }

    private static IEnumerable<string> Folders(string folder, string part)
    {
        if (part == "**")
        {
            return FolderTree.Enumerate(folder);
        }

        if (part.AsSpan().IndexOfAny('*', '?') < 0)
        {
            string child = Path.Combine(folder, part);
            return Directory.Exists(child) ? [child] : [];
        }

        return Directory.EnumerateDirectories(folder).Where(f => Matches(part, f));
    }

    // MatchesSimpleExpression treats a backslash as an escape. A part contains none: it is a separator on
    // Windows, and elsewhere a pattern with it is no wildcard.
    private static bool Matches(string part, string path) =>
        FileSystemName.MatchesSimpleExpression(
            part, Path.GetFileName(path), ignoreCase: OperatingSystem.IsWindows());
}

/// <summary>The folders below a folder.</summary>
internal static class FolderTree
{
    /// <summary>The folder itself and all below it. Links to folders are followed, but no folder is entered
    /// twice, because links can lead in a circle.</summary>
    public static IEnumerable<string> Enumerate(string root)
    {
        HashSet<string> entered = new(StringComparer.Ordinal);
        Stack<(string Path, string Real)> open = new([(root, RealPathOf(root))]);
        // Links are followed last, so that a folder is listed with its own path and not with that of a link
        // to it.
        Queue<(string Path, string Real)> links = [];
        while (open.TryPop(out (string Path, string Real) folder) || links.TryDequeue(out folder))
        {
            if (!entered.Add(folder.Real))
            {
                continue;
            }

            yield return folder.Path;
            // The default options skip hidden folders and folders without access.
            EnumerationOptions visible = new();
            foreach (string path in Directory.EnumerateDirectories(folder.Path, "*", visible))
            {
                string own = Path.Combine(folder.Real, Path.GetFileName(path));
                string real = RealPathOf(own);
                if (real == own)
                {
                    open.Push((path, real));
                }
                else
                {
                    links.Enqueue((path, real));
                }
            }
        }
    }

    private static string RealPathOf(string path)
    {
        try
        {
            return Directory.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return path;
        }
    }
}
