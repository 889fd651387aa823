using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Tool;

/// <summary>The input and output of a run of the tool, which tests can replace.</summary>
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

    /// <summary>Whether standard output is a terminal.</summary>
    public bool IsOutputTerminal { get; init; }

    /// <summary>Whether errors are written in colour.</summary>
    public bool IsErrorTerminal { get; init; }

    /// <summary>Reads environment variables.</summary>
    public Func<string, string?> Variable { get; init; } = Environment.GetEnvironmentVariable;

    /// <summary>Asks the user for a secret, without showing it; null without a terminal.</summary>
    public Func<string, string>? AskSecret { get; init; }

    /// <summary>The named endpoints of the user.</summary>
    public RpcEndpointRegistry Registry =>
        Variable(RpcEndpointRegistry.PathVariable) is { Length: > 0 } path
            ? new RpcEndpointRegistry(path)
            : RpcEndpointRegistry.OfUser;

    /// <summary>Completes when <see cref="TryWriteLine"/> finds that the reader of standard output has
    /// ended.</summary>
    public Task<OutputClosedException> OutputClosed => _closed.Task;

    /// <summary>Writes a line from any thread, unless the reader of standard output has ended.</summary>
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
    /// <exception cref="OutputClosedException">The reader of the output has ended.</exception>
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

    /// <summary>Writes an error. Further lines of the message are indented, so that none of them looks like
    /// another error of the tool.</summary>
    public void WriteError(string message)
    {
        string[] lines = message.Split(
            '\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        WriteErrorLine($"protorpc: {string.Join($"{Environment.NewLine}  ", lines)}");
    }
}

/// <summary>The standard output of the process.</summary>
internal static class StandardOutput
{
    private const int Descriptor = 1;

    /// <summary>Standard output as bytes. Writing to a pipe fails if its reader has ended. The console's own
    /// stream ignores this on Unix, so that <c>protorpc call ... | head</c> would read an endless stream
    /// forever.</summary>
    public static Stream Open()
    {
        if (OperatingSystem.IsWindows())
        {
            return Console.OpenStandardOutput();
        }

        // A FileStream counts its own position in a file. Programs that share the file would not see it move,
        // and would overwrite each other's output.
        FileStream stream = new(
            new SafeFileHandle(Descriptor, ownsHandle: false), FileAccess.Write, bufferSize: 0);
        return stream.CanSeek ? Console.OpenStandardOutput() : stream;
    }

    /// <summary>Standard output as text; the console if it is a terminal.</summary>
    public static TextWriter OpenText() => Console.IsOutputRedirected
        ? new StreamWriter(Open(), new UTF8Encoding(encoderShouldEmitUTF8Identifier: false))
        : Console.Out;
}

/// <summary>The reader of the output has ended, as <c>head</c> does, so nothing more can be
/// written.</summary>
internal sealed class OutputClosedException(IOException cause) : Exception(cause.Message, cause);

/// <summary>Asks at the terminal for a secret, and does not show it.</summary>
internal static class SecretPrompt
{
    /// <summary>Asks on standard error, so that standard output only contains replies.</summary>
    /// <exception cref="OperationCanceledException">Ctrl+C.</exception>
    public static string Ask(string prompt)
    {
        // Otherwise Ctrl+C would have no effect until a key is read.
        bool before = Console.TreatControlCAsInput;
        Console.TreatControlCAsInput = true;
        try
        {
            Console.Error.Write(prompt);
            return Read(() => Console.ReadKey(intercept: true));
        }
        finally
        {
            Console.TreatControlCAsInput = before;
            Console.Error.WriteLine();
        }
    }

    /// <summary>Reads keys up to Enter.</summary>
    internal static string Read(Func<ConsoleKeyInfo> readKey)
    {
        StringBuilder secret = new();
        while (true)
        {
            ConsoleKeyInfo key = readKey();
            switch (key)
            {
                case { Key: ConsoleKey.Enter }:
                    return secret.ToString();
                case { Key: ConsoleKey.C, Modifiers: ConsoleModifiers.Control }:
                    throw new OperationCanceledException();
                case { Key: ConsoleKey.Backspace }:
                    secret.Length = Math.Max(0, secret.Length - 1);
                    break;
                case { KeyChar: var c } when !char.IsControl(c):
                    secret.Append(c);
                    break;
            }
        }
    }
}
