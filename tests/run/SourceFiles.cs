namespace ProtoRpc.TestRun;

/// <summary>The C# files that people write.</summary>
internal static class SourceFiles
{
    private static readonly string[] Built = ["bin", "obj", "artifacts", "out", "node_modules"];

    /// <summary>The paths of the files relative to a folder, in the order of names, with <c>/</c> between
    /// folders. Build output and hidden folders are left out.</summary>
    public static IEnumerable<string> Under(string root) =>
        In(new DirectoryInfo(root))
            .Select(file => Path.GetRelativePath(root, file.FullName).Replace('\\', '/'));

    private static IEnumerable<FileInfo> In(DirectoryInfo folder) =>
        folder.EnumerateDirectories()
            .Where(inner => inner.Name[0] != '.' && !Built.Contains(inner.Name))
            .OrderBy(inner => inner.Name, StringComparer.Ordinal)
            .SelectMany(In)
            .Concat(folder.EnumerateFiles("*.cs").OrderBy(file => file.Name, StringComparer.Ordinal));
}
