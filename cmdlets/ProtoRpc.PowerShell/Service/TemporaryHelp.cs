using System.Security.Cryptography;

namespace ProtoRpc.PowerShell.Service;

/// <summary>The help of imported commands as a file, because Get-Help reads nothing else. It is deleted with
/// the last module that has the same help, at the latest at the end of the process.</summary>
/// <remarks>A runspace that is closed removes no module. So its imports leave a file, but imports of the same
/// service share one.</remarks>
internal sealed class TemporaryHelp : IDisposable
{
    private static readonly Lock Gate = new();

    // By the hash of what they say.
    private static readonly Dictionary<string, SharedFile> Files = new(StringComparer.Ordinal);

    private SharedFile? _file;

    static TemporaryHelp() => AppDomain.CurrentDomain.ProcessExit += static (_, _) =>
    {
        lock (Gate)
        {
            foreach (SharedFile file in Files.Values)
            {
                file.Delete();
            }

            Files.Clear();
        }
    };

    /// <param name="content">The help.</param>
    /// <exception cref="IOException">The folder for temporary files cannot be written to.</exception>
    /// <exception cref="UnauthorizedAccessException">The same.</exception>
    public TemporaryHelp(byte[] content)
    {
        string key = Convert.ToHexString(SHA256.HashData(content));
        lock (Gate)
        {
            // Systems delete old temporary files.
            if (!Files.TryGetValue(key, out SharedFile? file) || !File.Exists(file.Path))
            {
                file = SharedFile.Write(key, content);
                Files[key] = file;
            }

            file.Users++;
            _file = file;
            Path = file.Path;
        }
    }

    /// <summary>The file.</summary>
    public string Path { get; }

    public void Dispose()
    {
        lock (Gate)
        {
            if (_file is { } file && --file.Users == 0)
            {
                file.Delete();
                if (Files.GetValueOrDefault(file.Key) == file)
                {
                    Files.Remove(file.Key);
                }
            }

            _file = null;
        }
    }

    // The file has a folder that only the user may enter: Get-Help first looks for folders with the names of
    // languages beside the file, and another user could make one in the folder of temporary files.
    private sealed class SharedFile(string key, string path)
    {
        public string Key => key;

        public string Path => path;

        public int Users { get; set; }

        public static SharedFile Write(string key, byte[] content)
        {
            DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");

            // Get-Help knows a file by its name.
            SharedFile file = new(key, System.IO.Path.Combine(folder.FullName, $"{key[..16]}-Help.xml"));
            try
            {
                using FileStream stream = new(file.Path, FileMode.CreateNew, FileAccess.Write);
                stream.Write(content);
            }
            catch
            {
                file.Delete();
                throw;
            }

            return file;
        }

        public void Delete()
        {
            try
            {
                File.Delete(Path);
                Directory.Delete(System.IO.Path.GetDirectoryName(Path)!);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                // Somebody reads it, or it is gone. It says what everybody may know.
            }
        }
    }
}
