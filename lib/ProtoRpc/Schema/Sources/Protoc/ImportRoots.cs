using System.Text.RegularExpressions;

namespace ProtoRpc.Schema.Sources.Protoc;

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
            throw SchemaError.Invalid($"Cannot read '{file.Given}': {FileProblem.Of(e, file.Given)}.", e);
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
