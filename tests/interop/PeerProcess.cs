namespace ProtoRpc.Interop;

/// <summary>A program of others, ended at the latest when this is disposed.</summary>
internal sealed class PeerProcess : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);
    private readonly IPeerProgram _program;
    private readonly Task<string> _errors;

    private PeerProcess(IPeerProgram program)
    {
        _program = program;
        _errors = program.Errors.ReadToEndAsync();
    }

    public static PeerProcess Start(string program, params string[] arguments) =>
        Start(program, [], arguments);

    /// <summary>The same, with variables of its environment.</summary>
    public static PeerProcess Start(
        string program, IEnumerable<KeyValuePair<string, string?>> variables, string[] arguments) =>
        new(HostedProgram.IsNeeded
            ? new HostedProgram(program, variables, arguments)
            : new LocalProgram(program, variables, arguments));

    public void WriteLine(string line)
    {
        _program.Input.WriteLine(line);
        _program.Input.Flush();
    }

    public async Task<string> ReadLineAsync()
    {
        using CancellationTokenSource source = new(Patience);
        return await _program.Output.ReadLineAsync(source.Token)
            ?? throw new InvalidOperationException($"The peer ended: {await _errors}");
    }

    public async Task<string> ReadToEndAsync()
    {
        using CancellationTokenSource source = new(Patience);
        string output = await _program.Output.ReadToEndAsync(source.Token);
        Assert.True(WaitForExit() == 0, await _errors);
        return output;
    }

    /// <summary>What it writes until it ends, and how it ends.</summary>
    public async Task<PeerResult> ReadResultAsync()
    {
        using CancellationTokenSource source = new(Patience);
        string output = await _program.Output.ReadToEndAsync(source.Token);
        return new PeerResult(output, await _errors.WaitAsync(source.Token), WaitForExit());
    }

    public int WaitForExit() => _program.WaitForExit(Patience) ?? -1;

    public void Dispose() => _program.Dispose();
}

/// <summary>How a program of others ended.</summary>
/// <param name="Output">What it wrote.</param>
/// <param name="Errors">What it wrote to its standard error.</param>
/// <param name="Code">Its exit code.</param>
internal sealed record PeerResult(string Output, string Errors, int Code);
