namespace ProtoRpc.Tool.Repl;

/// <summary>Reads lines and does what they say: of a terminal with an editor, else of standard
/// input.</summary>
internal sealed class ReplLoop(ReplSession session, ReplCall calls, ToolConsole console)
{
    private static readonly TimeSpan KeyInterval = TimeSpan.FromMilliseconds(50);
    private const string StreamPrompt = "... ";
    private int _failures;

    private bool IsTerminal =>
        ReferenceEquals(console.Input, Console.In) && !Console.IsInputRedirected
        && !Console.IsOutputRedirected;

    /// <summary>Runs until exit or the end of the input.</summary>
    /// <returns>Success; of a file whose last command failed, the failure.</returns>
    public async Task<int> RunAsync(CancellationToken cancellation)
    {
        if (!IsTerminal)
        {
            await RunLinesAsync(_ => new(console.Input.ReadLine()), null, cancellation);
            return _failures > 0 ? ExitCode.Failed : ExitCode.Success;
        }

        ReplHistory history = new(ReplHistory.PathOf(console.Variable));
        LineEditor editor = new(
            () => Console.ReadKey(intercept: true), Console.Write, () => Console.WindowWidth,
            new ReplCompleter(session).Complete, history.Lines);

        // Ctrl+C ends a line or a call, and not the session.
        Console.TreatControlCAsInput = true;
        try
        {
            await RunLinesAsync(editor.ReadLine, history, cancellation);
        }
        finally
        {
            Console.TreatControlCAsInput = false;
        }

        return ExitCode.Success;
    }

    private async Task RunLinesAsync(
        Func<string, TypedLine> readLine, ReplHistory? history, CancellationToken cancellation)
    {
        while (!cancellation.IsCancellationRequested)
        {
            TypedLine typed = readLine(session.Prompt);
            if (typed.Text is not { } text)
            {
                return;
            }

            string line = text.Trim();
            if (line.Length == 0 || line[0] == '#')
            {
                continue;
            }

            history?.Add(text);
            if (line is "exit" or "quit")
            {
                return;
            }

            await DoAsync(line, () => readLine(StreamPrompt), history is not null, cancellation);
        }
    }

    private async Task DoAsync(
        string line, Func<TypedLine> readLine, bool isTerminal, CancellationToken cancellation)
    {
        int space = line.IndexOf(' ', StringComparison.Ordinal);
        string command = space < 0 ? line : line[..space];
        string rest = space < 0 ? "" : line[(space + 1)..].Trim();
        try
        {
            if (command == "call")
            {
                await CallAsync(rest, readLine, isTerminal, cancellation);
            }
            else
            {
                session.Run(command, rest);
            }
        }
        catch (RpcException e)
        {
            Fail($"{e.Code}: {TerminalText.Neutralize(e.Message)}");
        }
        catch (UsageException e)
        {
            Fail(TerminalText.Neutralize(e.Message));
        }
        catch (OperationCanceledException)
        {
            Fail("cancelled.");
        }
    }

    private async Task CallAsync(
        string rest, Func<TypedLine> readLine, bool isTerminal, CancellationToken cancellation)
    {
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        bool isTyping = false;
        Task call = Task.Run(
            () => calls.RunAsync(
                rest,
                () =>
                {
                    isTyping = true;
                    TypedLine line = readLine();
                    isTyping = false;
                    return line;
                },
                stop.Token),
            CancellationToken.None);
        while (isTerminal && !call.IsCompleted)
        {
            if (!Volatile.Read(ref isTyping) && Console.KeyAvailable
                && Console.ReadKey(intercept: true) is
                { Key: ConsoleKey.C, Modifiers: ConsoleModifiers.Control })
            {
                await stop.CancelAsync();
            }

            await Task.WhenAny(call, Task.Delay(KeyInterval, CancellationToken.None));
        }

        await call;
    }

    private void Fail(string message)
    {
        _failures++;
        console.WriteError(message);
    }
}
