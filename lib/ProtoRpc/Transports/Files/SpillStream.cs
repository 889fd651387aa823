namespace ProtoRpc.Transports.Files;

/// <summary>A stream that keeps its bytes in memory up to a size, and then in a temporary file that only its
/// owner can read.</summary>
internal sealed class SpillStream(int memoryBytes) : Stream
{
    private Stream _inner = new MemoryStream();

    /// <summary>Whether the bytes have moved to a file.</summary>
    public bool IsOnDisk => _inner is FileStream;

    public override bool CanRead => true;

    public override bool CanSeek => true;

    public override bool CanWrite => true;

    public override long Length => _inner.Length;

    public override long Position
    {
        get => _inner.Position;
        set => _inner.Position = value;
    }

    public override int Read(byte[] buffer, int offset, int count) => _inner.Read(buffer, offset, count);

    public override int Read(Span<byte> buffer) => _inner.Read(buffer);

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        if (_inner is MemoryStream && _inner.Position + buffer.Length > memoryBytes)
        {
            MoveToDisk();
        }

        _inner.Write(buffer);
    }

    public override void Flush() => _inner.Flush();

    public override long Seek(long offset, SeekOrigin origin) => _inner.Seek(offset, origin);

    public override void SetLength(long value) => _inner.SetLength(value);

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _inner.Dispose();
        }

        base.Dispose(disposing);
    }

    /// <summary>Moves the bytes from memory to a file; does nothing if they are in a file.</summary>
    public void MoveToDisk()
    {
        if (IsOnDisk)
        {
            return;
        }

        FileStreamOptions options = new()
        {
            Mode = FileMode.CreateNew,
            Access = FileAccess.ReadWrite,
            Share = FileShare.None,

            // Without a buffer, a full disk fails the write instead of the close.
            BufferSize = 0,
        };
        if (OperatingSystem.IsWindows())
        {
            options.Options = FileOptions.DeleteOnClose;
        }
        else
        {
            options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
        }

        string path = Path.Combine(Path.GetTempPath(), $"protorpc-{Guid.NewGuid():N}.part");
        FileStream file = new(path, options);
        long position = _inner.Position;
        try
        {
            if (!OperatingSystem.IsWindows())
            {
                // Windows deletes the file when its process ends. Unix does not, but keeps a file without a
                // name until it is closed.
                File.Delete(path);
            }

            _inner.Position = 0;
            _inner.CopyTo(file);
            file.Position = position;
        }
        catch
        {
            _inner.Position = position;
            file.Dispose();
            throw;
        }

        _inner.Dispose();
        _inner = file;
    }
}
