using System.Diagnostics;
using System.Globalization;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A server of streams.proto in a process of its own: <c>protorpc listen</c>, ended at the latest
/// when this is disposed.</summary>
internal sealed class ToolServer : IDisposable
{
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private const string Listening = "Listening on ";
    private readonly Process _process;
    private readonly Task<string> _errors;
    private readonly Task _output;

    private ToolServer(Process process, IReadOnlyList<RpcEndpoint> endpoints, Task<string> errors)
    {
        _process = process;
        Endpoints = endpoints;
        _errors = errors;

        // Else the tool would wait for somebody who reads.
        _output = process.StandardOutput.ReadToEndAsync();
    }

    /// <summary>Starts it, and returns when it listens.</summary>
    /// <param name="endpoint">Where.</param>
    /// <param name="arguments">Of <c>protorpc listen</c>.</param>
    /// <param name="before">Shell commands that come before, such as <c>ulimit</c>; they end with <c>exec</c>
    /// and the tool.</param>
    /// <param name="variables">Of its environment.</param>
    public static async Task<ToolServer> StartAsync(
        string endpoint, string[] arguments, string before = "exec \"$@\"",
        params (string Name, string Value)[] variables)
    {
        ProcessStartInfo start = new("sh")
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (string argument in new[]
        {
            "-c", before, "sh", "dotnet", "exec", Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll"),
            "listen", endpoint, "--schema", Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto"),
            "--service", "streams.Words", "--quiet",
        }.Concat(arguments))
        {
            start.ArgumentList.Add(argument);
        }

        foreach ((string name, string value) in variables)
        {
            start.Environment[name] = value;
        }

        Process process = Process.Start(start)!;
        process.StandardInput.Close();
        Task<string> errors = process.StandardError.ReadToEndAsync();
        using CancellationTokenSource patience = new(Patience);
        while (await process.StandardOutput.ReadLineAsync(patience.Token) is { } line)
        {
            if (line.StartsWith(Listening, StringComparison.Ordinal))
            {
                return new ToolServer(process, [RpcEndpoint.Parse(line[Listening.Length..])], errors);
            }
        }

        throw new InvalidOperationException($"The server did not start: {await errors}");
    }

    /// <summary>Where it listens, as bound.</summary>
    public IReadOnlyList<RpcEndpoint> Endpoints { get; }

    public RpcEndpoint Endpoint => Endpoints[0];

    /// <summary>What it wrote to the standard error, when it has ended.</summary>
    public Task<string> Errors => _errors;

    public int Id => _process.Id;

    /// <summary>Open files and sockets.</summary>
    public int Handles => Directory.GetFileSystemEntries($"/proc/{Id}/fd").Length;

    public TimeSpan ProcessorTime
    {
        get
        {
            _process.Refresh();
            return _process.TotalProcessorTime;
        }
    }

    public RpcClient Connect(RpcClientOptions? options = null) => RpcClient.Connect(
        Endpoint, WordsServer.Schema,
        (options ?? new()) with { Service = "streams.Words", Lazy = true });

    /// <summary>Sends a signal to it.</summary>
    public void Signal(string name) => SignalTo(_process, name);

    /// <summary>Waits for its end.</summary>
    /// <returns>Its exit code.</returns>
    public async Task<int> EndsAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(Patience);
        await _output.WaitAsync(Patience);
        return _process.ExitCode;
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _process.Kill(entireProcessTree: true);
        }

        _process.Dispose();
    }

    /// <summary>Sends a signal to a process, by the shell: not every system has a program for it.</summary>
    public static void SignalTo(Process process, string name)
    {
        using Process kill = Process.Start(
            "sh", ["-c", string.Create(CultureInfo.InvariantCulture, $"kill -{name} {process.Id}")]);
        kill.WaitForExit();
        Assert.Equal(0, kill.ExitCode);
    }

    /// <summary>Waits until something holds, and fails if it does not in time.</summary>
    public static async Task UntilAsync(Func<bool> condition, string what)
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < Patience, $"Too late: {what}.");
            await Task.Delay(10);
        }
    }
}
