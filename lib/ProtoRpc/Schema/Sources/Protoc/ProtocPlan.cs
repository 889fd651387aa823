using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>One run of protoc.</summary>
/// <param name="Roots">Folders in which imports are looked for, in order.</param>
/// <param name="Inputs">The files to compile, each by its name under its root.</param>
/// <param name="ImportPaths">How many of the roots, from the first on, the user gave.</param>
/// <param name="OwnRoots">The roots from which the names of the inputs count.</param>
/// <param name="Label">A name for this run among others.</param>
internal sealed record ProtocPlan(
    IReadOnlyList<SourceFile> Roots, IReadOnlyList<ProtocInput> Inputs, int ImportPaths,
    IReadOnlyList<SourceFile> OwnRoots, string Label)
{
    /// <summary>Makes as few runs as the files' names allow; mostly one.</summary>
    /// <param name="files">The .proto files.</param>
    /// <param name="importPaths">The folders that the user gave.</param>
    /// <exception cref="RpcException">InvalidArgument when an import path hides a file that is asked for.
    /// </exception>
    public static IReadOnlyList<ProtocPlan> Make(
        IReadOnlyList<SourceFile> files, IReadOnlyList<SourceFile> importPaths)
    {
        ImportRoots roots = new(files, importPaths);
        List<List<SourceFile>> runs = [];
        // Files of one folder stay together: they import each other.
        foreach (IGrouping<string, SourceFile> group in files.GroupBy(f => roots.RootOf(f).FullPath))
        {
            HashSet<string> names = [.. group.Select(roots.NameOf)];
            List<SourceFile>? run = runs.FirstOrDefault(r => !r.Any(f => names.Contains(roots.NameOf(f))));
            if (run is null)
            {
                runs.Add(run = []);
            }

            run.AddRange(group);
        }

        return [.. runs.Select(run => Make(run, importPaths, roots))];
    }

    /// <summary>Checks that the result of searching an import does not depend on the order of folders that
    /// the user did not give.</summary>
    /// <param name="fileNames">The compiled files, including imports.</param>
    /// <exception cref="RpcException">InvalidArgument: two folders have different files for an
    /// import.</exception>
    public void CheckImports(IEnumerable<string> fileNames)
    {
        if (OwnRoots.Count < 2)
        {
            return;
        }

        HashSet<string> inputs = [.. Inputs.Select(i => i.Name)];
        foreach (string name in fileNames.Where(n => !inputs.Contains(n)))
        {
            bool isOrdered = Roots.Take(ImportPaths).Any(r => File.Exists(Path.Combine(r.FullPath, name)));
            SourceFile[] holders = [.. OwnRoots.Where(r => File.Exists(Path.Combine(r.FullPath, name)))];
            SourceFile? other = holders.Skip(1).FirstOrDefault(h => !IsSame(
                Path.Combine(holders[0].FullPath, name), Path.Combine(h.FullPath, name)));
            if (!isOrdered && other is not null)
            {
                throw SchemaError.Invalid(
                    $"The import '{name}' is a different file in '{holders[0].FullPath}' and in "
                    + $"'{other.FullPath}'. "
                    + "Load the files of the two folders separately, or give the folder that is meant as "
                    + "an import path.");
            }
        }
    }

    /// <summary>The full path of a file by its name; null for one that comes with protoc.</summary>
    public string? FindFile(string name) =>
        Roots.Select(root => Path.Combine(root.FullPath, name)).FirstOrDefault(File.Exists);

    private static ProtocPlan Make(
        List<SourceFile> files, IReadOnlyList<SourceFile> importPaths, ImportRoots roots)
    {
        SourceFile[] order =
        [
            .. importPaths
                .Concat(files.Select(roots.RootOf))
                .Concat(roots.Automatic)
                .DistinctBy(r => r.FullPath),
        ];
        ProtocInput[] inputs = [.. files.Select(f => new ProtocInput(roots.NameOf(f), f))];
        foreach ((string name, SourceFile file) in inputs)
        {
            string first = order.Select(r => Path.Combine(r.FullPath, name)).First(File.Exists);
            if (!Path.GetFullPath(first).Equals(file.FullPath, StringComparison.Ordinal))
            {
                throw SchemaError.Invalid(
                    $"'{file.Given}' is hidden by '{first}', which has the same name '{name}' in an "
                    + "import path that comes first. Change the order of the import paths.");
            }
        }

        string folder = roots.RootOf(files[0]).FullPath;
        return new ProtocPlan(
            order, inputs, importPaths.Count, [.. files.Select(roots.RootOf).DistinctBy(r => r.FullPath)],
            new DirectoryInfo(folder).Name);
    }

    private static bool IsSame(string first, string second) =>
        new FileInfo(first).Length == new FileInfo(second).Length
        && File.ReadAllBytes(first).AsSpan().SequenceEqual(File.ReadAllBytes(second));
}

/// <summary>A file to compile.</summary>
/// <param name="Name">Its name under its root, with slashes.</param>
/// <param name="File">The file.</param>
internal sealed record ProtocInput(string Name, SourceFile File);

/// <summary>Finds the folder to which the name of each .proto file is relative.</summary>
/// <remarks>
/// That is the first import path that holds it. For other files it is a folder that makes the imports of the
/// files come true (<c>a/b/x.proto</c> with <c>import "b/y.proto"</c> counts from <c>a</c>), else their own.
/// </remarks>
internal sealed partial class ImportRoots
{
    // Imports stand at the beginning of a file; no more of it is read to find them.
    private const int ScannedBytes = 64 * 1024;

    private readonly Dictionary<string, SourceFile> _rootOf = new(StringComparer.Ordinal);

    public ImportRoots(IReadOnlyList<SourceFile> files, IReadOnlyList<SourceFile> importPaths)
    {
        SourceFile[] open = [.. files.Where(f => !importPaths.Any(p => Holds(p.FullPath, f.FullPath)))];
        SourceFile[] found =
            [.. open.SelectMany(FindRoots).Concat(Shipped(open)).DistinctBy(r => r.FullPath)];
        foreach (SourceFile file in files)
        {
            _rootOf[file.FullPath] =
                importPaths.Concat(found).FirstOrDefault(r => Holds(r.FullPath, file.FullPath))
                ?? FolderOf(file);
        }

        Automatic = [.. open.Select(RootOf).Concat(found).DistinctBy(r => r.FullPath)];
    }

    /// <summary>The folders that no import path covers.</summary>
    public IReadOnlyList<SourceFile> Automatic { get; }

    public SourceFile RootOf(SourceFile file) => _rootOf[file.FullPath];

    /// <summary>The name of a file under its root, with slashes.</summary>
    public string NameOf(SourceFile file) =>
        Path.GetRelativePath(RootOf(file).FullPath, file.FullPath).Replace(Path.DirectorySeparatorChar, '/');

    /// <summary>The folders above a file from which its imports are found.</summary>
    private static IEnumerable<SourceFile> FindRoots(SourceFile file)
    {
        foreach (string import in ImportsOf(file))
        {
            DirectoryInfo? folder = new FileInfo(file.FullPath).Directory;
            bool isBeside = folder is not null && File.Exists(Path.Combine(folder.FullName, import));
            // A tree written for Google.ProtocolBuffers.Rpc may have its own copy, which comes first.
            bool isShipped = !RpcMessageFiles.OriginalNames.Contains(import)
                && ProtocLocator.IncludeFolders.Any(f => File.Exists(Path.Combine(f, import)));
            for (folder = folder?.Parent; folder is not null && !isBeside && !isShipped;
                folder = folder.Parent)
            {
                if (File.Exists(Path.Combine(folder.FullName, import)))
                {
                    yield return new SourceFile(folder.FullName, folder.FullName);
                    break;
                }
            }
        }
    }

    private static IEnumerable<SourceFile> Shipped(SourceFile[] files) =>
        ProtocLocator.IncludeFolders
            .Where(folder => files.Any(f => Holds(folder, f.FullPath)))
            .Select(folder => new SourceFile(folder, folder));

    private static IEnumerable<string> ImportsOf(SourceFile file)
    {
        byte[] start = new byte[ScannedBytes];
        int read;
        try
        {
            using FileStream stream = File.OpenRead(file.FullPath);
            read = stream.ReadAtLeast(start, start.Length, throwOnEndOfStream: false);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid(
                $"Cannot read '{file.Given}': {FileProblem.Describe(e, file.Given)}.", e);
        }

        // Only a guess at where to look: protoc is who reads the file,
        // and protoc reports what is wrong with it.
        string text = System.Text.Encoding.UTF8.GetString(start, 0, read);
        return ImportLine().Matches(text).Select(m => m.Groups["file"].Value);
    }

    private static SourceFile FolderOf(SourceFile file) =>
        new(Path.GetDirectoryName(file.Given) ?? "", Path.GetDirectoryName(file.FullPath)!);

    private static bool Holds(string folder, string file) =>
        file.StartsWith(
            Path.EndsInDirectorySeparator(folder) ? folder : folder + Path.DirectorySeparatorChar,
            OperatingSystem.IsWindows() ? StringComparison.OrdinalIgnoreCase : StringComparison.Ordinal);

    [GeneratedRegex(
        """(?:^|;)[^\S\n]*import\s+(?:public\s+|weak\s+|option\s+)?["'](?<file>[^"'\r\n\0]+)["']\s*;""",
        RegexOptions.Multiline | RegexOptions.CultureInvariant)]
    private static partial Regex ImportLine();
}
