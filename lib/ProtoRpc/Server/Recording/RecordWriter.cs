using System.Buffers;
using System.Threading.Channels;
using ProtoRpc.Transports;

namespace ProtoRpc.Server.Recording;

/// <summary>Writes calls to a file, apart from the threads that serve them.</summary>
internal sealed class RecordWriter : IDisposable
{
    private const int MaxBatchBytes = 1024 * 1024;

    private readonly Channel<RpcRecordedCall> _queue =
        Channel.CreateUnbounded<RpcRecordedCall>(new() { SingleReader = true });

    private readonly ArrayBufferWriter<byte> _batch = new();
    private readonly AppendedFile _file;
    private readonly RecordLine _line;
    private readonly RpcCallRecorderOptions _options;
    private readonly Task _loop;
    private long _waitingBytes;
    private int _waiting;
    private long _written;
    private long _lost;
    private bool _fails;

    /// <summary>Opens the file, or makes it, readable and writable for its owner alone.</summary>
    /// <exception cref="RpcException">The file cannot be written, and why.</exception>
    public RecordWriter(string path, RecordLine line, RpcCallRecorderOptions options)
    {
        _file = Open(path);
        _line = line;
        _options = options;
        _loop = Task.Run(RunAsync);
    }

    public long Written => Volatile.Read(ref _written);

    public long Lost => Volatile.Read(ref _lost);

    /// <summary>Queues a call that has ended; counts it as lost where too many wait.</summary>
    public void Add(RpcRecordedCall call)
    {
        int waiting = Interlocked.Increment(ref _waiting);
        long bytes = Interlocked.Add(ref _waitingBytes, call.Bytes);
        if (waiting > _options.MaxQueuedCalls || bytes > _options.MaxQueuedBytes
            || !_queue.Writer.TryWrite(call))
        {
            Release(call);
            Interlocked.Increment(ref _lost);
        }
    }

    /// <summary>Writes what waits, and closes the file.</summary>
    public void Dispose()
    {
        if (!_queue.Writer.TryComplete())
        {
            return;
        }

        _loop.GetAwaiter().GetResult();
        _file.Dispose();
        if (Lost > 0)
        {
            Warn($"{Lost} calls were not recorded to '{_file.Path}'. {Written} were.");
        }
    }

    private static AppendedFile Open(string path)
    {
        try
        {
            AppendedFile file = new(path);
            file.Append(default);
            return file;
        }
        catch (Exception e) when (AppendedFile.IsRefusal(e))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"Calls cannot be recorded to '{path}': {FileProblem.Of(e, path)}.", e)
            {
                ErrorId = RpcErrorIds.CannotWriteFile,
            };
        }
    }

    private async Task RunAsync()
    {
        while (await _queue.Reader.WaitToReadAsync().ConfigureAwait(false))
        {
            int calls = 0;
            while (_batch.WrittenCount < MaxBatchBytes && _queue.Reader.TryRead(out RpcRecordedCall? call))
            {
                calls += TryWrite(call) ? 1 : 0;
                Release(call);
            }

            Flush(calls);
            _batch.ResetWrittenCount();
        }
    }

    private void Release(RpcRecordedCall call)
    {
        Interlocked.Decrement(ref _waiting);
        Interlocked.Add(ref _waitingBytes, -call.Bytes);
    }

    private bool TryWrite(RpcRecordedCall call)
    {
        try
        {
            _batch.Write(_line.Write(call));
            return true;
        }
        catch (Exception e)
        {
            // One call of a strange shape must not end the record of the others.
            Interlocked.Increment(ref _lost);
            Warn($"A call of {call.Method.FullName} was not recorded to '{_file.Path}': {e.Message}");
            return false;
        }
    }

    private void Flush(int calls)
    {
        try
        {
            _file.Append(_batch.WrittenMemory);
            Interlocked.Add(ref _written, calls);
            if (_fails)
            {
                _fails = false;
                Warn($"Calls are recorded to '{_file.Path}' again; {Lost} were not.");
            }
        }
        catch (Exception e) when (AppendedFile.IsRefusal(e))
        {
            Interlocked.Add(ref _lost, calls);
            if (!_fails)
            {
                _fails = true;
                Warn(
                    $"Calls cannot be recorded to '{_file.Path}': {FileProblem.Of(e, _file.Path)}. "
                    + "They are still served.");
            }
        }
    }

    private void Warn(string text)
    {
        try
        {
            _options.Warning?.Invoke(TerminalText.Neutralize(text));
        }
        catch (Exception)
        {
            // Who listens to warnings must not end the record.
        }
    }
}
