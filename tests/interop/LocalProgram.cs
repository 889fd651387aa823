using System.Diagnostics;

namespace ProtoRpc.Interop;

/// <summary>A program of others as a child of this process.</summary>
internal sealed class LocalProgram : IPeerProgram
{
    private readonly Process _process;

    public LocalProgram(
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

        _process = Process.Start(start)!;
    }

    public TextWriter Input => _process.StandardInput;

    public TextReader Output => _process.StandardOutput;

    public TextReader Errors => _process.StandardError;

    public int? WaitForExit(TimeSpan limit) => _process.WaitForExit(limit) ? _process.ExitCode : null;

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _process.Kill(entireProcessTree: true);
        }

        _process.Dispose();
    }
}
