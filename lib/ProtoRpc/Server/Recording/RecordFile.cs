namespace ProtoRpc.Server.Recording;

/// <summary>A file that lines are added to: whole lines, or none of them.</summary>
internal sealed class RecordFile : IDisposable
{
    private readonly FileStream _file;
    private long _end;

    private RecordFile(FileStream file)
    {
        _file = file;
        _end = file.CanSeek ? file.Seek(0, SeekOrigin.End) : 0;
    }

    public string Path => _file.Name;

    /// <summary>Opens a file, and makes it where it is not there.</summary>
    /// <exception cref="RpcException">It cannot be written, and why.</exception>
    public static RecordFile Open(string path)
    {
        try
        {
            FileStreamOptions options = new()
            {
                Mode = FileMode.OpenOrCreate,
                Access = FileAccess.Write,
                Share = FileShare.Read,
                BufferSize = 0,
            };
            if (!OperatingSystem.IsWindows())
            {
                // Calls hold what only the service's owner may see.
                options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
            }

            return new RecordFile(new FileStream(path, options));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or NotSupportedException
            or ArgumentException)
        {
            throw new RpcException(
                e is UnauthorizedAccessException
                    ? RpcStatusCode.PermissionDenied
                    : RpcStatusCode.InvalidArgument,
                $"Calls cannot be recorded to '{path}': {e.Message}", e)
            {
                ErrorId = RpcErrorIds.CannotWriteFile,
            };
        }
    }

    /// <summary>Adds lines. When that fails, the file ends where it ended before, as far as the system lets
    /// it.</summary>
    /// <exception cref="IOException">They could not be written.</exception>
    public void Append(ReadOnlySpan<byte> lines)
    {
        try
        {
            _file.Write(lines);
            _end += lines.Length;
        }
        catch (IOException)
        {
            CutOff();
            throw;
        }
    }

    public void Dispose() => _file.Dispose();

    private void CutOff()
    {
        try
        {
            if (_file.CanSeek)
            {
                _file.SetLength(_end);
                _file.Seek(_end, SeekOrigin.Begin);
            }
        }
        catch (Exception e) when (e is IOException or NotSupportedException or UnauthorizedAccessException
            or ArgumentException)
        {
            // Half a line is left; the reader of the file says which.
        }
    }
}
