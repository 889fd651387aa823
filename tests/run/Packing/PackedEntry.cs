namespace ProtoRpc.TestRun.Packing;

/// <summary>A file of an archive.</summary>
/// <param name="Name">Its path in the archive, with <c>/</c>.</param>
/// <param name="Content">Its bytes.</param>
/// <param name="IsProgram">Whether it gets the execute bit where the archive has one.</param>
internal sealed record PackedEntry(string Name, byte[] Content, bool IsProgram = false)
{
    /// <summary>All files of a folder.</summary>
    /// <param name="folder">The folder.</param>
    /// <param name="prefix">What comes before the paths below the folder.</param>
    /// <param name="isProgram">Tells programs by their paths below the folder.</param>
    public static IEnumerable<PackedEntry> Under(
        string folder, string prefix = "", Func<string, bool>? isProgram = null) =>
        Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories)
            .Select(file => (File: file, Name: Path.GetRelativePath(folder, file).Replace('\\', '/')))
            .Select(found => new PackedEntry(
                prefix + found.Name, File.ReadAllBytes(found.File), isProgram?.Invoke(found.Name) ?? false));
}
