using System.Diagnostics;

namespace ProtoRpc.Interop;

/// <summary>A program of others, ended at the latest when this is disposed.</summary>
internal sealed class PeerProcess : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private readonly Process _process;
    private readonly Task<string> _errors;

    private PeerProcess(Process process)
    {
        _process = process;
        _errors = process.StandardError.ReadToEndAsync();
    }

    public static PeerProcess Start(string program, params string[] arguments) =>
        Start(program, [], arguments);

    /// <summary>The same, with variables of its environment.</summary>
    public static PeerProcess Start(
        string program, IEnumerable<KeyValuePair<string, string?>> variables, string[] arguments)
    {
        ProcessStartInfo start = new(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach ((string name, string? value) in variables)
        {
            start.Environment[name] = value;
        }

        return new PeerProcess(Process.Start(start)!);
    }

    public void WriteLine(string line)
    {
        _process.StandardInput.WriteLine(line);
        _process.StandardInput.Flush();
    }

    public async Task<string> ReadLineAsync()
    {
        using CancellationTokenSource source = new(Patience);
        return await _process.StandardOutput.ReadLineAsync(source.Token)
            ?? throw new InvalidOperationException($"The peer ended: {await _errors}");
    }

    public async Task<string> ReadToEndAsync()
    {
        using CancellationTokenSource source = new(Patience);
        string output = await _process.StandardOutput.ReadToEndAsync(source.Token);
        Assert.True(WaitForExit() == 0, await _errors);
        return output;
    }

    public int WaitForExit() => _process.WaitForExit(Patience) ? _process.ExitCode : -1;

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _process.Kill(entireProcessTree: true);
        }

        _process.Dispose();
    }
}
