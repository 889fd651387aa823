namespace ProtoRpc.Tests;

/// <summary>The folder of the repository, for tests that read its files.</summary>
internal static class Repository
{
    private static readonly string[] Built = ["bin", "obj", "node_modules"];

    /// <summary>The repository's root, above the folder of the tests.</summary>
    public static string Root { get; } = Find(AppContext.BaseDirectory);

    /// <summary>The files that people write: those of the root, and those below its folders.</summary>
    /// <param name="pattern">The names, with wildcards.</param>
    /// <param name="folders">Folders of the root. It has others: tests build in the root, with links to the
    /// whole file system.</param>
    /// <returns>Paths relative to the root, with <c>/</c> between folders.</returns>
    public static IEnumerable<string> Files(string pattern, params string[] folders) => folders
        .Select(folder => Path.Combine(Root, folder))
        .Where(Directory.Exists)
        .SelectMany(folder => Directory.EnumerateFiles(folder, pattern, SearchOption.AllDirectories))
        .Concat(Directory.EnumerateFiles(Root, pattern))
        .Select(file => Path.GetRelativePath(Root, file).Replace('\\', '/'))
        .Where(file => !file.Split('/').Any(Built.Contains));

    private static string Find(string? folder) =>
        folder is null ? throw new InvalidOperationException("The repository's root is not above the tests.")
        : File.Exists(Path.Combine(folder, "ProtoRpc.slnx")) ? folder
        : Find(Path.GetDirectoryName(folder));
}
