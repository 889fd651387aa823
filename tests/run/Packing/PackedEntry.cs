namespace ProtoRpc.TestRun.Packing;

/// <summary>A file of an archive.</summary>
/// <param name="Name">Its path in the archive, with <c>/</c>.</param>
/// <param name="Content">Its bytes.</param>
/// <param name="IsProgram">Whether the file gets the execute bit, in formats that have one.</param>
internal sealed record PackedEntry(string Name, byte[] Content, bool IsProgram = false)
{
    /// <summary>All files of a folder.</summary>
    /// <param name="folder">The folder.</param>
    /// <param name="prefix">The start of the names in the archive, before the paths below the folder.</param>
    /// <param name="isProgram">Returns whether the file with this path below the folder is a program.</param>
    public static IEnumerable<PackedEntry> Under(
        string folder, string prefix = "", Func<string, bool>? isProgram = null) =>
        Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories)
            .Select(file => (File: file, Name: Path.GetRelativePath(folder, file).Replace('\\', '/')))
            .Select(found => new PackedEntry(
                prefix + found.Name, File.ReadAllBytes(found.File), isProgram?.Invoke(found.Name) ?? false));
}
