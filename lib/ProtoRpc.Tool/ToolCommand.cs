using System.CommandLine.Parsing;
using ProtoRpc.Tool.Completion;
using ProtoRpc.Tool.Repl;
using ProtoRpc.Tool.Verbs;

namespace ProtoRpc.Tool;

/// <summary>The command with its verbs; the one place where exceptions become a line
/// and an exit code.</summary>
internal static class ToolCommand
{
    /// <summary>How much of a word an error shows.</summary>
    public const int MaxWord = 60;

    // Longer than a listener's drain time, so that Ctrl+C lets running calls end.
    private static readonly TimeSpan StopTime = RpcLimits.Default.DrainTimeout + TimeSpan.FromSeconds(2);

    // Commands that only call have nothing to drain, but may be blocked in a write to a full pipe.
    private static readonly TimeSpan ClientStopTime = TimeSpan.FromMilliseconds(150);
    private static readonly string[] AtOnce =
        ["call", "describe", "diff", "export", "health", "list", "ping"];

    public static async Task<int> RunAsync(
        string[] args, ToolConsole console, CancellationToken cancellation = default)
    {
        RootCommand root = new(
            "Lists, describes, compares, calls, measures and serves Protocol Buffers services.")
        {
            BenchVerb.Create(console),
            CompletionVerb.Create(console),
            DemoVerb.Create(console),
            HealthVerb.Create(console),
            ListVerb.Create(console),
            DescribeVerb.Create(console),
            DiffVerb.Create(console),
            CallVerb.Create(console),
            ExportVerb.Create(console),
            ListenVerb.Create(console),
            ManVerb.Create(console),
            MockVerb.Create(console),
            PingVerb.Create(console),
            ProxyVerb.Create(console),
            ReplVerb.Create(console),
        };

        // @FILE is a file with a message, not a file with further arguments.
        ParserConfiguration parsing = new() { ResponseFileTokenReplacer = null };
        ToolHelp.Use(root);
        if (args is [WordCompleter.Word, ..])
        {
            foreach (string word in await new WordCompleter(root, parsing, console).CompleteAsync(args[1..]))
            {
                console.WriteLine(word);
            }

            return ExitCode.Success;
        }

        ParseResult parsed = root.Parse(args.Length == 0 ? ["--help"] : args, parsing);
        if (parsed.Errors.Count > 0)
        {
            // The last error is the most useful one: the first error for an unknown command is that a command
            // is missing.
            string verb = parsed.CommandResult.Command == root ? "" : $"{parsed.CommandResult.Command.Name} ";
            console.WriteError(
                (UnknownVerb(parsed) ?? UnknownOption(parsed) ?? RequestWithoutOption(parsed)
                    ?? InOneLine(parsed.Errors[^1]))
                + $" Run 'protorpc {verb}--help' for usage.");
            return ExitCode.Usage;
        }

        try
        {
            InvocationConfiguration configuration = new()
            {
                Output = console.Output,
                Error = console.Error,
                EnableDefaultExceptionHandler = false,
                ProcessTerminationTimeout =
                    AtOnce.Contains(parsed.CommandResult.Command.Name) ? ClientStopTime : StopTime,
            };
            int code = await parsed.InvokeAsync(configuration, cancellation);

            // System.CommandLine does not flush help and version.
            ToolConsole.Guard(console.Output.Flush);
            return code;
        }
        catch (CallFailedException e)
        {
            ErrorOutput.Write(console, e);
            return ExitCode.OfCall(e.Code);
        }
        catch (RpcException e)
        {
            console.WriteError(FlagNames.Rename(e));
            return e.ErrorId is RpcErrorIds.InvalidEndpoint or RpcErrorIds.EndpointNameNotFound
                ? ExitCode.Usage
                : ExitCode.Failed;
        }
        catch (UsageException e)
        {
            console.WriteError(e.Message);
            return ExitCode.Usage;
        }
        catch (OutputClosedException)
        {
            return ExitCode.OutputClosed;
        }
        catch (OperationCanceledException)
        {
            console.WriteError("stopped.");
            return ExitCode.Stopped;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            console.WriteError(e.Message);
            return ExitCode.Failed;
        }
    }

    private static string InOneLine(ParseError error) => string.Join(
        "; ",
        error.Message.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries));

    // System.CommandLine reports the last word, even if an earlier one is wrong.
    private static string? UnknownVerb(ParseResult parsed)
    {
        Command root = parsed.RootCommandResult.Command;
        string? word = parsed.CommandResult.Command == root
            ? parsed.UnmatchedTokens.FirstOrDefault(token => !token.StartsWith('-'))
            : null;
        return word is null ? null
            : RpcEndpoint.TryParse(word, out _)
            ? $"'{TerminalText.OneLine(word, MaxWord)}' is an endpoint. Write a verb before it, such as "
                + "call or ping."
            : $"There is no verb '{TerminalText.OneLine(word, MaxWord)}'."
                + NearestName.Hint(
                    word, root.Subcommands.SelectMany(verb => verb.Aliases.Prepend(verb.Name)));
    }

    // Other tools have the request after the method, so its option is suggested.
    private static string? RequestWithoutOption(ParseResult parsed)
    {
        Command verb = parsed.CommandResult.Command;
        string? word = parsed.UnmatchedTokens.FirstOrDefault();
        string? option = word switch
        {
            ['{' or '[' or '@', ..] => "--data",
            not null when word.IndexOf('=') > 0 => "--set",
            _ => null,
        };
        return option is not null
            && verb.Options.Any(one => one.Name == option || one.Aliases.Contains(option))
            ? $"'{TerminalText.OneLine(word, MaxWord)}' is not an argument. Give the request with {option}: "
                + $"{verb.Name} ENDPOINT METHOD {(option == "--data" ? "-d '{...}'" : "--set NAME=VALUE")}."
            : null;
    }

    // System.CommandLine treats the value of an unknown option as an argument, and reports that.
    private static string? UnknownOption(ParseResult parsed)
    {
        Command verb = parsed.CommandResult.Command;
        string? word = verb == parsed.RootCommandResult.Command
            ? null
            : parsed.UnmatchedTokens.FirstOrDefault(
                token => token.StartsWith("--", StringComparison.Ordinal));
        if (word is null)
        {
            return null;
        }

        string name = word.Split('=', ':')[0];
        return $"There is no option '{name}'.{NearestName.Hint(name, verb.Options.Select(o => o.Name))}";
    }
}

/// <summary>The tool's exit codes.</summary>
internal static class ExitCode
{
    /// <summary>It worked.</summary>
    public const int Success = 0;

    /// <summary>It failed on this side: a schema, a message, a port in use.</summary>
    public const int Failed = 1;

    /// <summary>The command line cannot be understood.</summary>
    public const int Usage = 2;

    /// <summary>The server replied that it, or the requested service, is not serving.</summary>
    public const int NotServing = 3;

    /// <summary>Changes of a schema break callers.</summary>
    public const int Breaking = 4;

    /// <summary>The user stopped the command: a shell's exit code for SIGINT.</summary>
    public const int Stopped = 130;

    /// <summary>The reader of the output has ended: a shell's exit code for SIGPIPE.</summary>
    public const int OutputClosed = 141;

    private const int StatusBase = 64;

    /// <summary>The exit code of a call that ended with a status: 64 and the status, so 65 to 80.</summary>
    public static int OfCall(RpcStatusCode code) => StatusBase + (int)code;
}

/// <summary>The command line is invalid; the message says how to correct it.</summary>
internal sealed class UsageException(string message, Exception? innerException = null)
    : Exception(message, innerException);

/// <summary>A connection or call that failed, unlike errors before anything was sent.</summary>
internal sealed class CallFailedException(RpcException cause) : Exception(cause.Message, cause)
{
    public RpcException Cause { get; } = cause;

    public RpcStatusCode Code { get; } = cause.Code;

    /// <summary>Runs what talks to the server.</summary>
    public static T Guard<T>(Func<T> talk)
    {
        try
        {
            return talk();
        }
        catch (RpcException e)
        {
            throw new CallFailedException(e);
        }
    }

    /// <inheritdoc cref="Guard"/>
    /// <param name="talk">Talks.</param>
    /// <param name="cancellation">Cancelled by the user.</param>
    public static async Task<T> GuardAsync<T>(Func<Task<T>> talk, CancellationToken cancellation)
    {
        try
        {
            return await talk();
        }
        catch (RpcException e) when (e.ErrorId != RpcErrorIds.NoSchema)
        {
            cancellation.ThrowIfCancellationRequested();
            throw new CallFailedException(e);
        }
    }
}
