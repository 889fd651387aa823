using System.Text;
using ProtoRpc.Tool;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>A verb of the tool that calls a server, with input and output that a test reads and writes while
/// it runs.</summary>
internal sealed class ClientRun : IAsyncDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(30);

    private readonly CancellationTokenSource _stop = new();
    private readonly System.IO.Pipelines.Pipe _input = new();
    private readonly LockedWriter _output = new() { NewLine = "\n" };
    private readonly LockedWriter _error = new() { NewLine = "\n" };
    private readonly MemoryStream _bytes = new();
    private readonly Task<int> _run;

    private ClientRun(string[] arguments, bool isTerminal, Dictionary<string, string>? environment)
    {
        ToolConsole console = new(TextReader.Null, _output, _error)
        {
            OpenInput = () => _input.Reader.AsStream(),
            OutputStream = _bytes,
            IsOutputTerminal = isTerminal,
            IsErrorTerminal = isTerminal,
            Variable = name => environment?.GetValueOrDefault(name),
        };
        _run = ToolCommand.RunAsync(arguments, console, _stop.Token);
    }

    public string Output => _output.Text;

    public string Error => _error.Text;

    public byte[] Bytes => _bytes.ToArray();

    public static ClientRun Start(params string[] arguments) => new(arguments, false, null);

    /// <summary>Runs a verb to its end, with all of its input.</summary>
    public static async Task<ClientRun> RunAsync(
        string[] arguments, string input = "", bool isTerminal = false,
        Dictionary<string, string>? environment = null)
    {
        ClientRun run = new(arguments, isTerminal, environment);
        await run.SendAsync(input);
        run.EndInput();
        run.Code = await run.EndAsync();
        return run;
    }

    /// <summary>The exit code of a run that has ended.</summary>
    public int Code { get; private set; }

    public async Task SendAsync(string input) =>
        await _input.Writer.WriteAsync(Encoding.UTF8.GetBytes(input));

    public void EndInput() => _input.Writer.Complete();

    /// <summary>Ctrl+C.</summary>
    public void Stop() => _stop.Cancel();

    public Task<int> EndAsync() => _run.WaitAsync(Limit);

    /// <summary>Waits until this was written.</summary>
    public async Task WaitForAsync(string text)
    {
        DateTime end = DateTime.UtcNow + Limit;
        while (!Output.Contains(text, StringComparison.Ordinal))
        {
            Assert.False(_run.IsCompleted, Error);
            Assert.True(DateTime.UtcNow < end, $"'{text}' was not written.");
            await Task.Delay(5);
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await EndAsync();
        _stop.Dispose();
    }
}
