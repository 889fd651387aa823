using System.ComponentModel;
using System.Diagnostics;
using System.Text;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>How protoc ended and what it said.</summary>
internal sealed record ProtocOutput(int ExitCode, string Text);

/// <summary>Runs protoc as a process.</summary>
internal static class ProtocProcess
{
    // Enough for every error that somebody will read.
    private const int MaxText = 1024 * 1024;

    /// <summary>Runs protoc to its end.</summary>
    /// <exception cref="RpcException">FailedPrecondition when it cannot be started; DeadlineExceeded when it
    /// hangs, and it is then killed.</exception>
    public static ProtocOutput Run(
        string protoc, IEnumerable<string> arguments, string workFolder, TimeSpan timeout)
    {
        ProcessStartInfo start = new(protoc, arguments)
        {
            WorkingDirectory = workFolder,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            StandardOutputEncoding = Encoding.UTF8,
            StandardErrorEncoding = Encoding.UTF8,
            CreateNoWindow = true,
        };
        using Process process = Start(start);
        process.StandardInput.Close();
        Task<string> output = ReadAsync(process.StandardOutput);
        Task<string> errors = ReadAsync(process.StandardError);
        Stopwatch watch = Stopwatch.StartNew();
        if (!Task.WhenAll(output, errors).Wait(timeout) || !process.WaitForExit(Left(timeout, watch)))
        {
            process.Kill(entireProcessTree: true);
            throw new RpcException(
                RpcStatusCode.DeadlineExceeded,
                $"'{protoc}' did not end within {timeout.TotalSeconds:0.#} seconds and was stopped.")
            {
                ErrorId = RpcErrorIds.SchemaError,
            };
        }

        return new ProtocOutput(process.ExitCode, errors.Result + output.Result);
    }

    private static Process Start(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start)!;
        }
        catch (Win32Exception e)
        {
            throw ProtocLocator.Missing($"'{start.FileName}' cannot be started: {e.Message}", e);
        }
    }

    private static TimeSpan Left(TimeSpan timeout, Stopwatch watch) =>
        timeout > watch.Elapsed ? timeout - watch.Elapsed : TimeSpan.Zero;

    // On a thread of its own, because asynchronous reading of pipes compiles a lot when it is first used.
    private static Task<string> ReadAsync(StreamReader reader) =>
        Task.Factory.StartNew(
            () => Read(reader), CancellationToken.None,
            TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private static string Read(StreamReader reader)
    {
        StringBuilder text = new();
        char[] buffer = new char[4096];
        for (int read = 1; read > 0;)
        {
            read = reader.Read(buffer);
            // The rest is read and dropped, so that protoc does not wait for a reader.
            text.Append(buffer, 0, Math.Min(read, MaxText - text.Length));
        }

        return text.ToString();
    }
}
