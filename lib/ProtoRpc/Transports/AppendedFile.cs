using System.Collections.Concurrent;
using IOPath = System.IO.Path;

namespace ProtoRpc.Transports;

/// <summary>A file that lines are appended to, found anew by its path when it was moved away. For one
/// thread.</summary>
internal sealed class AppendedFile(string path) : IDisposable
{
    // Two files have the same length for a moment at times; the path is asked again after this.
    private static readonly TimeSpan LongestOpen = TimeSpan.FromSeconds(1);

    // .NET opens files on Unix without O_APPEND: who appends asks for the end first.
    private static readonly ConcurrentDictionary<string, Lock> Gates = new();

    private readonly Lock _gate = Gates.GetOrAdd(IOPath.GetFullPath(path), static _ => new Lock());
    private FileStream? _stream;
    private long _opened;

    /// <summary>The full path.</summary>
    public string Path { get; } = IOPath.GetFullPath(path);

    /// <summary>Whether an exception says that a file cannot be opened or written.</summary>
    public static bool IsRefusal(Exception error) =>
        error is IOException or UnauthorizedAccessException or NotSupportedException or ArgumentException
            or System.Security.SecurityException;

    /// <summary>Appends whole lines: all of them, or none.</summary>
    /// <exception cref="IOException">And others; see <see cref="IsRefusal"/>.</exception>
    public void Append(ReadOnlyMemory<byte> lines)
    {
        lock (_gate)
        {
            FileStream stream = Open();
            long end = stream.CanSeek ? stream.Seek(0, SeekOrigin.End) : 0;
            try
            {
                stream.Write(lines.Span);
            }
            catch (Exception)
            {
                CutOff(stream, end);
                throw;
            }
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            Close();
        }
    }

    private FileStream Open()
    {
        if (_stream is not null && IsStillThere(_stream))
        {
            return _stream;
        }

        Close();
        _stream = OwnFile.OpenToAppend(Path);
        _opened = Environment.TickCount64;
        if (_stream.CanSeek && !EndsWithLine(_stream.Length))
        {
            // A process that was killed, or a full disk, left half a line.
            _stream.Seek(0, SeekOrigin.End);
            _stream.WriteByte((byte)'\n');
        }

        return _stream;
    }

    // After a rename the path is free or has a new file, which is shorter.
    private bool IsStillThere(FileStream stream) => !stream.CanSeek
        || (Environment.TickCount64 - _opened < LongestOpen.TotalMilliseconds
            && new FileInfo(Path) is { Exists: true } found && found.Length == stream.Length);

    private bool EndsWithLine(long length)
    {
        if (length == 0)
        {
            return true;
        }

        try
        {
            using FileStream read = new(
                Path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
            read.Seek(length - 1, SeekOrigin.Begin);
            return read.ReadByte() == '\n';
        }
        catch (Exception e) when (IsRefusal(e))
        {
            // A file that may be written and not read is taken as it is.
            return true;
        }
    }

    private void CutOff(FileStream stream, long end)
    {
        try
        {
            if (stream.CanSeek)
            {
                stream.SetLength(end);
            }
        }
        catch (Exception e) when (IsRefusal(e))
        {
        }

        Close();
    }

    private void Close()
    {
        try
        {
            _stream?.Dispose();
        }
        catch (Exception e) when (IsRefusal(e))
        {
            // Nothing is buffered here; what the system could not keep is lost anyhow.
        }

        _stream = null;
    }
}
