using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace ProtoRpc.Tool.Replies.Programs;

/// <summary>A running program in a separate process group, with pipes for its three streams.</summary>
internal sealed class RunningProgram : IDisposable
{
    private const int MaxErrorBytes = 2048;
    private const int Kill = 9;

    // setsid of util-linux or busybox starts the program in a new session, so that its process group can be
    // killed.
    private static readonly string? SetSession = OperatingSystem.IsWindows()
        ? null
        : HandlerProgram.FindOnPath("setsid", Environment.GetEnvironmentVariable);

    // How long to wait for output after the program has ended: processes that it started may keep the pipes
    // open.
    private static readonly TimeSpan LastOutput = TimeSpan.FromSeconds(1);

    private readonly Process _process;
    private readonly Task<string> _error;
    private int _isKilled;

    private RunningProgram(Process process)
    {
        _process = process;
        Ended = WaitAsync();
        _error = ReadErrorAsync(process.StandardError.BaseStream);
    }

    /// <summary>The standard input of the program.</summary>
    public Stream Input => _process.StandardInput.BaseStream;

    /// <summary>The standard output of the program.</summary>
    public Stream Output => _process.StandardOutput.BaseStream;

    /// <summary>Ends with the exit code: 128 and the number of a signal that ended it.</summary>
    public Task<int> Ended { get; }

    /// <summary>Starts a program.</summary>
    /// <param name="program">The program, with the variables that every call has.</param>
    /// <param name="environment">The variables of this call.</param>
    /// <exception cref="RpcException">Internal: it cannot be started, and why.</exception>
    public static RunningProgram Start(
        HandlerProgram program, IEnumerable<KeyValuePair<string, string>> environment)
    {
        ProcessStartInfo start = SetSession is null
            ? new(program.Path, program.Arguments)
            : new(SetSession, [program.Path, .. program.Arguments]);
        start.RedirectStandardInput = start.RedirectStandardOutput = start.RedirectStandardError = true;
        start.Environment.Clear();
        foreach ((string name, string value) in program.Environment.Read().Concat(environment))
        {
            start.Environment[name] = value;
        }

        Process process = new() { StartInfo = start, EnableRaisingEvents = true };
        try
        {
            process.Start();
            return new RunningProgram(process);
        }
        catch (Exception e) when (e is Win32Exception or IOException)
        {
            process.Dispose();
            throw new RpcException(
                RpcStatusCode.Internal, $"The handler program {program.Name} cannot be started: {e.Message}",
                e);
        }
    }

    /// <summary>The last 2 KiB of the program's standard error; complete when the program has
    /// ended.</summary>
    public async Task<string> ReadErrorAsync()
    {
        await Task.WhenAny(_error, Task.Delay(LastOutput));
        return _error.IsCompletedSuccessfully ? await _error : "";
    }

    /// <summary>Waits for a task that reads the output. After the program has ended, the wait is
    /// short.</summary>
    /// <exception cref="RpcException">Internal: another program keeps the output open.</exception>
    public async Task<T> OfOutputAsync<T>(Task<T> reading, CancellationToken cancellation)
    {
        await Task.WhenAny(reading, Ended).WaitAsync(cancellation);
        if (!reading.IsCompleted)
        {
            await Task.WhenAny(reading, Task.Delay(LastOutput, cancellation));
        }

        return reading.IsCompleted
            ? await reading
            : throw new RpcException(
                RpcStatusCode.Internal,
                "The handler program ended, but a program that it started keeps its output open.");
    }

    /// <summary>Ends it with all programs of its group. Does nothing the second time.</summary>
    public void End()
    {
        if (Interlocked.Exchange(ref _isKilled, 1) != 0)
        {
            return;
        }

        try
        {
            // First the process tree: processes that left the group are found as children of running ones.
            _process.Kill(entireProcessTree: true);
        }
        catch (Exception e) when (e is InvalidOperationException or Win32Exception or AggregateException)
        {
            // The program has ended.
        }

        if (SetSession is not null)
        {
            _ = kill(-_process.Id, Kill);
        }
    }

    /// <summary>Kills the program if it still runs, and closes its streams.</summary>
    public void Dispose()
    {
        if (!Ended.IsCompleted || !_error.IsCompleted)
        {
            End();
        }

        _ = Ended.ContinueWith(
            _ => _process.Dispose(), CancellationToken.None, TaskContinuationOptions.None,
            TaskScheduler.Default);
    }

    private Task<int> WaitAsync()
    {
        // Process.WaitForExitAsync also waits for output that is read by events, so the exit event is used.
        TaskCompletionSource<int> ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _process.Exited += (_, _) => ended.TrySetResult(_process.ExitCode);
        if (_process.HasExited)
        {
            ended.TrySetResult(_process.ExitCode);
        }

        return ended.Task;
    }

    // Keeps the last bytes, which usually contain the reason of a failure. Reads all, because the program
    // blocks when the pipe is full.
    private static async Task<string> ReadErrorAsync(Stream stream)
    {
        byte[] kept = new byte[2 * MaxErrorBytes];
        int length = 0;
        try
        {
            while (await stream.ReadAsync(kept.AsMemory(length)) is > 0 and var count)
            {
                length += count;
                if (length > MaxErrorBytes)
                {
                    kept.AsSpan(length - MaxErrorBytes, MaxErrorBytes).CopyTo(kept);
                    length = MaxErrorBytes;
                }
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // The bytes that were read before the failure are returned.
        }

        return Encoding.UTF8.GetString(kept, 0, length).Trim();
    }

#pragma warning disable SYSLIB1054, IDE1006 // Named as in the C library.
    [DllImport("libc")]
    private static extern int kill(int process, int signal);
#pragma warning restore SYSLIB1054, IDE1006
}

/// <summary>Reads the lines that a program writes, each up to a limit.</summary>
/// <remarks>Only unread bytes are kept. For one reader at a time.</remarks>
internal sealed class OutputLines(Stream stream, int maxBytes)
{
    private const int FirstBuffer = 4096;
    private byte[] _buffer = new byte[FirstBuffer];
    private int _start;
    private int _end;

    /// <summary>The next line without its end; null after the last. A last line needs no end.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the line is longer than the limit.</exception>
    public async Task<byte[]?> ReadLineAsync()
    {
        int looked = _start;
        while (true)
        {
            int at = _buffer.AsSpan(looked, _end - looked).IndexOf((byte)'\n');
            if (at >= 0)
            {
                return Take(looked + at, 1);
            }

            looked = _end;
            if (_end - _start > maxBytes)
            {
                throw TooLarge();
            }

            (int kept, int moved) = (_end - _start, _start);
            MakeRoom();
            looked -= moved - _start;
            if (await ReadAsync() == 0)
            {
                return kept == 0 ? null : Take(_end, 0);
            }
        }
    }

    /// <summary>All that is left.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the output is over the limit.</exception>
    public async Task<byte[]> ReadAllAsync()
    {
        do
        {
            if (_end - _start > maxBytes)
            {
                throw TooLarge();
            }

            MakeRoom();
        }
        while (await ReadAsync() > 0);
        return Take(_end, 0);
    }

    private async Task<int> ReadAsync()
    {
        try
        {
            int count = await stream.ReadAsync(_buffer.AsMemory(_end));
            _end += count;
            return count;
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // The program was killed while its output was read, so the output ends here.
            return 0;
        }
    }

    private byte[] Take(int end, int terminator)
    {
        byte[] line = _buffer.AsSpan(_start, end - _start).ToArray();
        _start = end + terminator;
        return line;
    }

    private void MakeRoom()
    {
        if (_start > 0)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            (_start, _end) = (0, _end - _start);
        }

        if (_end == _buffer.Length)
        {
            Array.Resize(ref _buffer, _buffer.Length * 2);
        }
    }

    private RpcException TooLarge() => new(
        RpcStatusCode.ResourceExhausted, $"The handler program wrote a reply of more than {maxBytes} bytes.");
}
