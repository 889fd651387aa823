namespace ProtoRpc.Tool;

/// <summary>Where a run of the tool reads and writes, so that tests can stand in for the console.</summary>
internal sealed class ToolConsole(TextReader input, TextWriter output, TextWriter error)
{
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource<OutputClosedException> _closed =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    public TextReader Input { get; } = input;

    public TextWriter Output { get; } = output;

    public TextWriter Error { get; } = error;

    /// <summary>Opens standard input as bytes.</summary>
    public Func<Stream> OpenInput { get; init; } = Console.OpenStandardInput;

    /// <summary>Standard output as bytes.</summary>
    public Stream OutputStream
    {
        get => field ??= StandardOutput.Open();
        init;
    }

    /// <summary>Whether a person reads what is written to standard output.</summary>
    public bool IsOutputTerminal { get; init; }

    /// <summary>Whether errors are written in colour.</summary>
    public bool IsErrorTerminal { get; init; }

    /// <summary>Reads environment variables.</summary>
    public Func<string, string?> Variable { get; init; } = Environment.GetEnvironmentVariable;

    /// <summary>Asks a person for a secret, which is not shown; null where nobody can be asked.</summary>
    public Func<string, string>? AskSecret { get; init; }

    /// <summary>The named endpoints of the user.</summary>
    public RpcEndpointRegistry Registry =>
        Variable(RpcEndpointRegistry.PathVariable) is { Length: > 0 } path
            ? new RpcEndpointRegistry(path)
            : RpcEndpointRegistry.OfUser;

    /// <summary>Completed when <see cref="TryWriteLine"/> finds that the reader of standard output has
    /// gone.</summary>
    public Task<OutputClosedException> OutputClosed => _closed.Task;

    /// <summary>Writes a line from any thread, whole, unless the reader of standard output has
    /// gone.</summary>
    public void TryWriteLine(string text)
    {
        if (OutputClosed.IsCompleted)
        {
            return;
        }

        try
        {
            WriteLine(text);
        }
        catch (OutputClosedException e)
        {
            _closed.TrySetResult(e);
        }
    }

    /// <summary>Writes a line from any thread, whole.</summary>
    public void WriteLine(string text = "")
    {
        lock (_gate)
        {
            Guard(() =>
            {
                Output.WriteLine(text);
                Output.Flush();
            });
        }
    }

    /// <summary>Writes to standard output.</summary>
    /// <exception cref="OutputClosedException">Its reader has gone.</exception>
    public static void Guard(Action write)
    {
        try
        {
            write();
        }
        catch (IOException e)
        {
            throw new OutputClosedException(e);
        }
    }

    /// <summary>Writes a line to standard error from any thread, whole.</summary>
    public void WriteErrorLine(string text)
    {
        lock (_gate)
        {
            Error.WriteLine(text);
        }
    }

    /// <summary>Writes an error in one line; line breaks in the message become semicolons.</summary>
    public void WriteError(string message)
    {
        string[] lines = message.Split(
            '\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        Error.WriteLine($"protorpc: {string.Join("; ", lines)}");
    }
}
