using System.Diagnostics;

namespace ProtoRpc.Tests.Transports.Lrpc;

/// <summary>The program of the windows suite, once more, as a server.</summary>
internal sealed class OtherProcess : IDisposable
{
    private const string Program = "WindowsTests";

    private readonly Process _process;

    private OtherProcess(Process process)
    {
        _process = process;
        WaitFor("ready");
    }

    /// <summary>Starts a server that is ready.</summary>
    /// <returns>Null where another program runs the tests.</returns>
    public static OtherProcess? TryStart(string name)
    {
        string path = Environment.ProcessPath ?? "";
        return Path.GetFileNameWithoutExtension(path) != Program
            ? null
            : new OtherProcess(Process.Start(new ProcessStartInfo(path, [LrpcProgram.Verb, name])
            {
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
            })!);
    }

    public void WaitFor(string line) => Assert.Equal(line, _process.StandardOutput.ReadLine());

    public void Kill()
    {
        _process.Kill();
        _process.WaitForExit();
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            Kill();
        }

        _process.Dispose();
    }
}
