namespace ProtoRpc.Tests.Schema;

/// <summary>A folder that is gone afterwards.</summary>
internal sealed class TempFolder : IDisposable
{
    public string Path { get; } = Directory.CreateTempSubdirectory("protorpc tests ü ").FullName;

    /// <summary>Writes a file, with the folders that it is in.</summary>
    public string Write(string name, string text)
    {
        // On Windows, a full path has no slashes of the name.
        string path = System.IO.Path.GetFullPath(name, Path);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
        return path;
    }

    public void Dispose() => Directory.Delete(Path, recursive: true);
}
