using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>One run of protoc.</summary>
/// <param name="Roots">Folders in which imports are looked for, in order.</param>
/// <param name="Inputs">The files to compile, each by its name under its root.</param>
/// <param name="Given">The roots that the user gave, as import paths or as folders to load.</param>
/// <param name="OwnRoots">The roots from which the names of the inputs count.</param>
/// <param name="Label">A name for this run among others.</param>
internal sealed record ProtocPlan(
    IReadOnlyList<SourceFile> Roots, IReadOnlyList<ProtocInput> Inputs, IReadOnlyList<SourceFile> Given,
    IReadOnlyList<SourceFile> OwnRoots, string Label)
{
    /// <summary>The folder with copies that are compiled instead of the original files; null for
    /// none.</summary>
    public string? Copies { get; init; }

    /// <summary>Makes as few runs as the files' names allow; mostly one.</summary>
    /// <param name="files">The .proto files.</param>
    /// <param name="importPaths">The import paths that the user gave.</param>
    /// <param name="folders">The folders of which all files are loaded.</param>
    /// <exception cref="RpcException">InvalidArgument when an import path hides a file that is asked for.
    /// </exception>
    public static IReadOnlyList<ProtocPlan> Make(
        IReadOnlyList<SourceFile> files, IReadOnlyList<SourceFile> importPaths,
        IReadOnlyList<SourceFile> folders)
    {
        ImportRoots roots = new(files, importPaths, folders);
        List<List<SourceFile>> runs = [];
        // Files of one folder are compiled together, because they import each other.
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

        return [.. runs.Select(run => Make(run, importPaths, folders, roots))];
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
            bool isOrdered = Given.Any(r => File.Exists(Path.Combine(r.FullPath, name)));
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

    /// <summary>The full path of a file by its name; null for a file that protoc includes.</summary>
    public string? FindFile(string name) =>
        Roots.Select(root => Path.Combine(root.FullPath, name)).FirstOrDefault(File.Exists);

    /// <summary>The full path of the copy of a file; null for none.</summary>
    public string? FindCopy(string name) =>
        Copies is { } folder && Path.Combine(folder, name) is { } path && File.Exists(path) ? path : null;

    /// <summary>The names by which a file can be imported.</summary>
    public IEnumerable<string> NamesOf(string path) =>
        Roots.Where(root => ImportRoots.Holds(root.FullPath, path))
            .Select(root => ImportRoots.NameIn(root, path))
            .Where(name => FindFile(name) is { } found && Path.GetFullPath(found) == path)
            .Distinct();

    private static ProtocPlan Make(
        List<SourceFile> files, IReadOnlyList<SourceFile> importPaths, IReadOnlyList<SourceFile> folders,
        ImportRoots roots)
    {
        SourceFile[] order =
        [
            .. importPaths
                .Concat(files.Select(roots.RootOf))
                .Concat(folders)
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
            order, inputs, [.. importPaths, .. folders],
            [.. files.Select(roots.RootOf).DistinctBy(r => r.FullPath)], new DirectoryInfo(folder).Name);
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
/// <remarks> The root is the first import path that contains the file. For other files it is a folder in
/// which the imports of the files exist (<c>a/b/x.proto</c> with <c>import "b/y.proto"</c> counts from
/// <c>a</c>), else their own. </remarks>
internal sealed partial class ImportRoots
{
    // Imports are at the beginning of a file, so only this part is searched.
    private const int ScannedBytes = 64 * 1024;

    // How many folders above a file are searched. Paths in Go's style are the longest: a file in
    // github.com/OWNER/NAME/api/services/SERVICE/v1 is named from the folder above github.com.
    private const int MaxLevels = 10;

    // How many imports are read to find the folders of their imports.
    private const int MaxImports = 1_000;

    private readonly Dictionary<string, SourceFile> _rootOf = new(StringComparer.Ordinal);

    public ImportRoots(
        IReadOnlyList<SourceFile> files, IReadOnlyList<SourceFile> importPaths,
        IReadOnlyList<SourceFile> folders)
    {
        // Not a lookup with a bool as the key: the runtime compiles that code when it first runs, which
        // delays the first schema of a process.
        SourceFile[] inFolders = [.. files.Where(file => IsIn(folders, file) && !IsIn(importPaths, file))];
        SourceFile[] others = [.. files.Where(file => !IsIn(folders, file) && !IsIn(importPaths, file))];
        SourceFile[] found =
        [
            .. FindRoots(inFolders, [.. importPaths, .. folders])
                .Concat(FindRoots(others, importPaths))
                .Concat(Shipped(others))
                .DistinctBy(r => r.FullPath),
        ];
        foreach (SourceFile file in files)
        {
            _rootOf[file.FullPath] =
                importPaths.Concat(found).Concat(folders)
                    .FirstOrDefault(r => Holds(r.FullPath, file.FullPath))
                ?? FolderOf(file);
        }

        Automatic =
            [.. others.Concat(inFolders).Select(RootOf).Concat(found).DistinctBy(r => r.FullPath)];
    }

    /// <summary>The folders that no import path covers.</summary>
    public IReadOnlyList<SourceFile> Automatic { get; }

    public SourceFile RootOf(SourceFile file) => _rootOf[file.FullPath];

    /// <summary>The name of a file under its root, with slashes.</summary>
    public string NameOf(SourceFile file) =>
        NameIn(RootOf(file), file.FullPath);

    public static string NameIn(SourceFile root, string path) =>
        Path.GetRelativePath(root.FullPath, path).Replace(Path.DirectorySeparatorChar, '/');

    private static bool IsIn(IReadOnlyList<SourceFile> folders, SourceFile file) =>
        folders.Any(folder => Holds(folder.FullPath, file.FullPath));

    public static bool Holds(string folder, string file) =>
        file.StartsWith(
            Path.EndsInDirectorySeparator(folder) ? folder : folder + Path.DirectorySeparatorChar,
            OperatingSystem.IsWindows() ? StringComparison.OrdinalIgnoreCase : StringComparison.Ordinal);

    /// <summary>The folders in which imports are found that none of the known folders has.</summary>
    /// <param name="files">The files whose imports are searched, with the imports of these, and so
    /// on.</param>
    /// <param name="known">The known folders.</param>
    private static IEnumerable<SourceFile> FindRoots(
        IReadOnlyCollection<SourceFile> files, IReadOnlyList<SourceFile> known)
    {
        Queue<SourceFile> open = new(files);
        HashSet<string> read = new(StringComparer.Ordinal);
        // Files of one folder usually have the same imports, so each import is searched once for a folder.
        HashSet<(string? Folder, string Import)> searched = [];
        while (read.Count < files.Count + MaxImports && open.TryDequeue(out SourceFile? file))
        {
            if (!read.Add(file.FullPath))
            {
                continue;
            }

            string? folder = Path.GetDirectoryName(file.FullPath);
            foreach (string import in ImportsOf(file).Where(import => searched.Add((folder, import))))
            {
                SourceFile? root = known.FirstOrDefault(root => Has(root.FullPath, import));
                if (root is null && (root = FindRoot(file, import)) is not null)
                {
                    yield return root;
                }

                if (root is not null)
                {
                    string path = Path.GetFullPath(import, root.FullPath);
                    open.Enqueue(new SourceFile(path, path));
                }
            }
        }
    }

    // The nearest folder, beginning with the file's own and going up, that contains an import. A search does
    // not leave a git repository, except for the repository's own name: etcd's files import
    // "etcd/auth/authpb/auth.proto".
    private static SourceFile? FindRoot(SourceFile file, string import)
    {
        // A tree for Google.ProtocolBuffers.Rpc may contain its own copy of these files, which has priority.
        if (!RpcMessageFiles.OriginalNames.Contains(import) && ProtocLocator.HasImport(import))
        {
            return null;
        }

        DirectoryInfo? folder = new FileInfo(file.FullPath).Directory;
        bool isInside = true;
        for (int i = 0; i < MaxLevels && folder is not null; i++)
        {
            if (Has(folder.FullName, import))
            {
                return i == 0 ? FolderOf(file) : new SourceFile(folder.FullName, folder.FullName);
            }

            if (!isInside)
            {
                return null;
            }

            isInside = !Path.Exists(Path.Combine(folder.FullName, ".git"));
            bool isNamed = import.StartsWith($"{folder.Name}/", StringComparison.Ordinal);
            folder = isInside || isNamed ? folder.Parent : null;
        }

        return null;
    }

    private static bool Has(string folder, string import) => File.Exists(Path.Combine(folder, import));

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

        // Only finds folders to search: protoc parses the file and reports its errors.
        string text = System.Text.Encoding.UTF8.GetString(start, 0, read);
        return ImportLine().Matches(text).Select(m => m.Groups["file"].Value);
    }

    private static SourceFile FolderOf(SourceFile file) =>
        new(Path.GetDirectoryName(file.Given) ?? "", Path.GetDirectoryName(file.FullPath)!);

    [GeneratedRegex(
        """(?:^|;)[^\S\n]*import\s+(?:public\s+|weak\s+|option\s+)?["'](?<file>[^"'\r\n\0]+)["']\s*;""",
        RegexOptions.Multiline | RegexOptions.CultureInvariant)]
    private static partial Regex ImportLine();
}
