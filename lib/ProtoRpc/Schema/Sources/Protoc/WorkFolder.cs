namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>A temporary folder for one run of protoc.</summary>
internal sealed class WorkFolder : IDisposable
{
    private const int Tries = 8;

    private readonly DirectoryInfo _folder;

    /// <summary>Makes the folder.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the system's folder for temporary files does not
    /// exist, or cannot be written to.</exception>
    public WorkFolder()
        : this(Path.GetTempPath(), Directory.CreateTempSubdirectory)
    {
    }

    internal WorkFolder(string temporary, Func<string?, DirectoryInfo> create)
    {
        try
        {
            _folder = create("protorpc-");
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The system's message for a missing folder does not contain its name.
            string why = Directory.Exists(temporary) ? e.Message : "the folder does not exist.";
            throw new RpcException(
                RpcStatusCode.FailedPrecondition, RpcErrorIds.SchemaError,
                $"Cannot write temporary files to '{temporary}', which compiling .proto files needs: {why} "
                + $"Set {(OperatingSystem.IsWindows() ? "TEMP" : "TMPDIR")} to a folder that can be "
                + "written to.", e);
        }
    }

    public string FullName => _folder.FullName;

    /// <summary>Deletes the folder. If that fails, the folder remains, because the result is still
    /// valid.</summary>
    public void Dispose() => TryDelete(() => _folder.Delete(recursive: true));

    // On Windows, a virus scanner or a protoc that has just ended may have the files open for a moment. The
    // pauses add up to a quarter of a second.
    internal static bool TryDelete(Action delete)
    {
        for (int i = 0; i < Tries; i++)
        {
            try
            {
                delete();
                return true;
            }
            catch (DirectoryNotFoundException)
            {
                return true;
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                if (i < Tries - 1)
                {
                    Thread.Sleep(TimeSpan.FromMilliseconds(2 << i));
                }
            }
        }

        return false;
    }
}
