using System.ComponentModel;
using System.Diagnostics;

namespace ProtoRpc.Tool.Processes;

/// <summary>Runs a program to its end or to a time limit, and returns its output.</summary>
internal static class ChildProcess
{
    // A grandchild may hold the pipe open after the program itself has ended.
    private static readonly TimeSpan LastOutput = TimeSpan.FromSeconds(5);

    /// <param name="ExitCode">The exit code, or null
    /// where the program could not be started or was ended.</param>
    /// <param name="TimedOut">Whether it was ended, with all its children, at the time limit.</param>
    /// <param name="Lines">The lines of both output streams, in the order of arrival.</param>
    public sealed record Result(int? ExitCode, bool TimedOut, IReadOnlyList<string> Lines)
    {
        public bool Succeeded => ExitCode == 0;

        public string Text => string.Join('\n', Lines);
    }

    /// <param name="fileName">The program; looked up on PATH.</param>
    /// <param name="arguments">Its arguments.</param>
    /// <param name="folder">Its working folder.</param>
    /// <param name="limit">When to end it.</param>
    /// <param name="onLine">Receives each line when it arrives, one at a time.</param>
    /// <param name="cancellation">Ends it too, and throws.</param>
    public static Task<Result> RunAsync(
        string fileName, IEnumerable<string> arguments, string folder, TimeSpan limit,
        Action<string>? onLine = null, CancellationToken cancellation = default) =>
        RunToEndAsync(fileName, arguments, folder, limit, onLine, static _ => false, cancellation);

    /// <summary>Runs a program without a time limit, as long as it makes progress.</summary>
    /// <param name="fileName">The program; looked up on PATH.</param>
    /// <param name="arguments">Its arguments.</param>
    /// <param name="folder">Its working folder.</param>
    /// <param name="silence">When to end it: after this time without progress.</param>
    /// <param name="isProgress">Which lines show progress; null for all.</param>
    public static Task<Result> RunUntilSilentAsync(
        string fileName, IEnumerable<string> arguments, string folder, TimeSpan silence,
        Func<string, bool>? isProgress = null) =>
        RunToEndAsync(
            fileName, arguments, folder, silence, null, isProgress ?? (static _ => true),
            CancellationToken.None);

    private static async Task<Result> RunToEndAsync(
        string fileName, IEnumerable<string> arguments, string folder, TimeSpan limit,
        Action<string>? onLine, Func<string, bool> isProgress, CancellationToken cancellation)
    {
        ProcessStartInfo start = new(fileName, arguments)
        {
            WorkingDirectory = folder,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };

        // The build servers of MSBuild would continue to run after the program, and keep its output open.
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        using Process process = new() { StartInfo = start };
        try
        {
            process.Start();
        }
        catch (Win32Exception e)
        {
            return new Result(null, TimedOut: false, [$"{fileName} cannot be started: {e.Message}"]);
        }

        process.StandardInput.Close();
        using CancellationTokenSource timer = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        timer.CancelAfter(limit);
        List<string> lines = [];
        bool hasEnded = false;
        Task reading = Task.WhenAll(
            ReadAsync(process.StandardOutput, lines, OnLine),
            ReadAsync(process.StandardError, lines, OnLine));
        bool timedOut = !await EndsAsync(process, timer.Token);
        await Task.WhenAny(reading, Task.Delay(LastOutput, CancellationToken.None));
        lock (lines)
        {
            hasEnded = true;
            cancellation.ThrowIfCancellationRequested();
            return new Result(timedOut ? null : process.ExitCode, timedOut, [.. lines]);
        }

        void OnLine(string line)
        {
            // A grandchild may print after the program has ended and the timer was disposed.
            if (!hasEnded && isProgress(line))
            {
                timer.CancelAfter(limit);
            }

            onLine?.Invoke(line);
        }
    }

    private static async Task<bool> EndsAsync(Process process, CancellationToken cancellation)
    {
        // Process.WaitForExitAsync would also wait for the end of the output, which a grandchild can delay.
        TaskCompletionSource exited = new(TaskCreationOptions.RunContinuationsAsynchronously);
        process.EnableRaisingEvents = true;
        process.Exited += (_, _) => exited.TrySetResult();
        if (process.HasExited)
        {
            return true;
        }

        try
        {
            await exited.Task.WaitAsync(cancellation);
            return true;
        }
        catch (OperationCanceledException)
        {
            process.Kill(entireProcessTree: true);
            return false;
        }
    }

    private static async Task ReadAsync(StreamReader reader, List<string> lines, Action<string> onLine)
    {
        while (await reader.ReadLineAsync() is string line)
        {
            lock (lines)
            {
                lines.Add(line);
                onLine(line);
            }
        }
    }
}

/// <summary>Runs a program like <see cref="ChildProcess.RunAsync"/>. Tests replace it.</summary>
internal delegate Task<ChildProcess.Result> RunProgram(
    string fileName, IEnumerable<string> arguments, string folder, TimeSpan limit,
    Action<string>? onLine, CancellationToken cancellation);
