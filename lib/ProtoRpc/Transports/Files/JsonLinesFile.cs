using System.Buffers.Text;
using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Unicode;

namespace ProtoRpc.Transports.Files;

/// <summary>Appends JSON lines to a file that only its owner can read, on a separate thread.
/// Thread-safe.</summary>
/// <remarks>Waiting lines use a limited amount of memory. If the file is slower than its writers for long, or
/// cannot be written, lines are lost, and a line <c>{"time":...,"lost":N}</c> with their number follows as
/// soon as the file can be written. If log rotation moves, removes or truncates the file, it is opened again
/// by its path, or continued.</remarks>
internal sealed class JsonLinesFile : IDisposable
{
    /// <summary>How many bytes of lines wait at most, by default: 4 MiB.</summary>
    public const int DefaultWaitingBytes = 4 * 1024 * 1024;

    // A larger buffer, after a long line from a hostile peer, is released.
    private const int KeptBytes = 64 * 1024;
    private const int KeptLines = 16;
    private const int EscapeLength = 6;
    private static readonly SearchValues<byte> HtmlCharacters = SearchValues.Create("+'<>&`"u8);
    private static readonly TimeSpan LastWrite = TimeSpan.FromSeconds(5);

    private static readonly JsonWriterOptions Json = new() { Encoder = EncoderOf() };

    private readonly Lock _gate = new();
    private readonly ConcurrentQueue<Line> _lines = new();
    private readonly ManualResetEventSlim _written = new(initialState: true);
    private readonly AppendedFile _file;
    private readonly int _waitingBytes;
    private readonly Action<string>? _warn;
    private ArrayBufferWriter<byte> _waiting = new();
    private ArrayBufferWriter<byte> _spare = new();
    private long _waitingLines;
    private long _lost;
    private long _told;
    private bool _isWriting;
    private bool _isClosed;
    private bool _hasWarned;

    /// <summary>Opens or creates the file, which only its owner can read and write.</summary>
    /// <param name="path">The file. An existing one keeps its lines and its permissions.</param>
    /// <param name="warn">Receives a warning when the file cannot be written any more, once until it can be
    /// written again; called on a thread of the pool. Null for none.</param>
    /// <param name="waitingBytes">How many bytes of lines wait at most.</param>
    /// <exception cref="RpcException">InvalidArgument, with the id CannotWriteFile.</exception>
    public JsonLinesFile(string path, Action<string>? warn = null, int waitingBytes = DefaultWaitingBytes)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(waitingBytes);
        _file = new AppendedFile(path);
        _warn = warn;
        _waitingBytes = waitingBytes;
        try
        {
            _file.Append(default);
        }
        catch (Exception e) when (AppendedFile.IsRefusal(e))
        {
            _file.Dispose();
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.CannotWriteFile,
                $"Cannot write '{_file.Path}': {FileProblem.Describe(e, _file.Path)}. "
                + "Give the path of a file that this account may write.", e);
        }
    }

    /// <summary>The full path.</summary>
    public string Path => _file.Path;

    /// <summary>The number of lost lines: the memory limit was reached, or the file could not be
    /// written.</summary>
    public long Lost => Interlocked.Read(ref _lost);

    /// <summary>Adds a line, without waiting for the file.</summary>
    /// <param name="state">For the writer.</param>
    /// <param name="write">Writes one JSON value. If it throws, the exception is passed on, and no line is
    /// added.</param>
    /// <returns>False when the line is lost.</returns>
    public bool TryWrite<TState>(TState state, Action<Utf8JsonWriter, TState> write)
    {
        Line line = _lines.TryDequeue(out Line? used) ? used : new Line();
        try
        {
            // The writer escapes line breaks and control characters, so a text cannot end the line.
            write(line.Json, state);
            line.Json.Flush();
            line.Bytes.Write("\n"u8);
            return TryAdd(Readable(MemoryMarshal.AsMemory(line.Bytes.WrittenMemory).Span));
        }
        finally
        {
            if (line.Bytes.Capacity <= KeptBytes && _lines.Count < KeptLines)
            {
                line.Reset();
                _lines.Enqueue(line);
            }
        }
    }

    /// <summary>Waits until the lines that were added are written or lost.</summary>
    /// <returns>False when the time is over.</returns>
    public bool Flush(TimeSpan patience) => _written.Wait(patience);

    /// <summary>Writes what waits, for 5 seconds at most, and closes the file.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            if (_isClosed)
            {
                return;
            }

            _isClosed = true;
        }

        // If the disk does not respond, the thread and the file are abandoned, so that the process can end.
        if (Flush(LastWrite))
        {
            if (_lost > _told)
            {
                Write(_spare, lines: 0, _lost - _told);
            }

            _file.Dispose();
        }
    }

    // Letters of all languages are not escaped. Invisible characters, and characters that change the
    // direction of text, are escaped to protect readers in a terminal.
    private static JavaScriptEncoder EncoderOf()
    {
        TextEncoderSettings settings = new(UnicodeRanges.All);
        for (int c = 0; c <= char.MaxValue; c++)
        {
            if (char.GetUnicodeCategory((char)c) == UnicodeCategory.Format)
            {
                settings.ForbidCharacter((char)c);
            }
        }

        return JavaScriptEncoder.Create(settings);
    }

    // The encoder also escapes characters for HTML, such as the plus of grpc+unix. These escapes are undone,
    // so that a search finds the text.
    private static ReadOnlySpan<byte> Readable(Span<byte> line)
    {
        int length = line.IndexOf((byte)'\\');
        if (length < 0)
        {
            return line;
        }

        for (int i = length; i < line.Length; i++)
        {
            if (line[i] == '\\' && i + 1 < line.Length)
            {
                if (line[(i + 1)..] is [(byte)'u', (byte)'0', (byte)'0', var high, var low, ..]
                    && Utf8Parser.TryParse([high, low], out byte c, out _, 'X') && HtmlCharacters.Contains(c))
                {
                    line[length++] = c;
                    i += EscapeLength - 1;
                    continue;
                }

                // The character after a backslash does not begin an escape.
                line[length++] = line[i++];
            }

            line[length++] = line[i];
        }

        return line[..length];
    }

    private bool TryAdd(ReadOnlySpan<byte> line)
    {
        lock (_gate)
        {
            if (_isClosed || _waiting.WrittenCount + (long)line.Length > _waitingBytes)
            {
                _lost++;
                return false;
            }

            _waiting.Write(line);
            _waitingLines++;
            if (!_isWriting)
            {
                _isWriting = true;
                _written.Reset();
                ThreadPool.UnsafeQueueUserWorkItem(
                    static file => file.WriteWaiting(), this, preferLocal: false);
            }

            return true;
        }
    }

    private void WriteWaiting()
    {
        while (true)
        {
            ArrayBufferWriter<byte> taken;
            long lines;
            long lost;
            lock (_gate)
            {
                if (_waitingLines == 0)
                {
                    _isWriting = false;
                    _written.Set();
                    return;
                }

                (taken, _waiting, _spare) = (_waiting, _spare, _waiting);
                (lines, _waitingLines) = (_waitingLines, 0);
                lost = _lost - _told;
            }

            Write(taken, lines, lost);
            taken.ResetWrittenCount();
        }
    }

    private void Write(ArrayBufferWriter<byte> taken, long lines, long lost)
    {
        try
        {
            if (lost > 0)
            {
                taken.Write(LineOf(lost));
            }

            _file.Append(taken.WrittenMemory);
            _told += lost;
            _hasWarned = false;
        }
        catch (Exception e) when (AppendedFile.IsRefusal(e))
        {
            lock (_gate)
            {
                _lost += lines;
            }

            Warn(e);
        }
    }

    private static byte[] LineOf(long lost) => Encoding.UTF8.GetBytes(
        $$"""{"time":"{{DateTime.UtcNow:O}}","lost":{{lost}}}""" + "\n");

    private void Warn(Exception error)
    {
        if (_hasWarned)
        {
            return;
        }

        _hasWarned = true;
        try
        {
            _warn?.Invoke(
                $"Lines for '{Path}' are lost, because the file cannot be written: {error.Message}");
        }
        catch (Exception)
        {
            // An exception of the warning callback is ignored.
        }
    }

    /// <summary>A line that is being written.</summary>
    private sealed class Line
    {
        public Line() => Json = new Utf8JsonWriter(Bytes, JsonLinesFile.Json);

        public ArrayBufferWriter<byte> Bytes { get; } = new();

        public Utf8JsonWriter Json { get; }

        public void Reset()
        {
            Bytes.ResetWrittenCount();
            Json.Reset();
        }
    }
}
