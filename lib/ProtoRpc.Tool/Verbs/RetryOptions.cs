using System.CommandLine.Completions;
using System.CommandLine.Parsing;
using Microsoft.Extensions.Logging;
using ProtoRpc.Client;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that say which failed calls are retried, and when.</summary>
internal sealed class RetryOptions
{
    private readonly ToolOption<int?> _count = new(
        "--retry", "COUNT",
        "Retries connecting, and calls that certainly did not run, because the server was not reachable or "
        + "too busy. --max-time is for all attempts and pauses together. None by default.");

    private readonly ToolOption<RpcStatusCode[]> _codes = new(
        "--retry-status", "CODE[,CODE]",
        "Also retries calls that may have run, if they fail with one of these statuses, such as Unavailable; "
        + "may be repeated. Only for methods that can run twice.")
    {
        CustomParser = ParseCodes,
    };

    private readonly ToolOption<double?> _pause = new(
        "--retry-pause", "SECONDS",
        $"Seconds until the first retry: {RpcRetryPolicy.Default.InitialPause.TotalSeconds:0.#}. Each pause "
        + $"is longer than the one before, up to {RpcRetryPolicy.Default.MaxPause.TotalSeconds:0}, and "
        + "varies. A server can ask for another one.")
    {
        CustomParser = SecondsArgument.ParseOptional,
    };

    private readonly ToolFlag _idempotent = new(
        "--idempotent",
        "Says that the method can run twice, as idempotency_level of a .proto file does. Calls are then also "
        + "retried if the server says when: Retry-After, grpc-retry-pushback-ms.");

    public RetryOptions(Command command)
    {
        _codes.CompletionSources.Add(
            _ => RpcRetryPolicy.StatusNames.Select(name => new CompletionItem(name)));
        command.Add(_count);
        command.Add(_codes);
        command.Add(_pause);
        command.Add(_idempotent);
    }

    /// <summary>The retry policy of a registered name, or none, with what these options say.</summary>
    /// <exception cref="UsageException">A value is out of its range, or --retry is missing.</exception>
    public RpcRetryPolicy? Apply(ParseResult parsed, RpcRetryPolicy? policy)
    {
        int? count = parsed.GetValue(_count);
        RpcStatusCode[] codes = parsed.GetValue(_codes) ?? [];
        double? pause = parsed.GetValue(_pause);
        bool isIdempotent = parsed.GetValue(_idempotent);
        if (count is null && policy is null)
        {
            return codes.Length > 0 || pause is not null || isIdempotent
                ? throw new UsageException(
                    "--retry COUNT is missing. Without a count, calls are not retried.")
                : null;
        }

        policy ??= new RpcRetryPolicy();
        policy = policy with
        {
            Count = count ?? policy.Count,
            StatusCodes = codes.Length > 0 ? codes : policy.StatusCodes,
            Idempotent = isIdempotent || policy.Idempotent,
            InitialPause = pause is { } seconds
                ? TimeSpan.FromSeconds(Math.Clamp(seconds, -1, int.MaxValue))
                : policy.InitialPause,
            MaxPause = pause is { } first && first > policy.MaxPause.TotalSeconds
                ? TimeSpan.FromSeconds(Math.Min(first, int.MaxValue))
                : policy.MaxPause,
        };
        try
        {
            policy.Check();
            return policy;
        }
        catch (RpcException e)
        {
            throw new UsageException(FlagNames.Rename(e), e);
        }
    }

    private static RpcStatusCode[] ParseCodes(ArgumentResult result)
    {
        List<RpcStatusCode> codes = [];
        foreach (Token token in result.Tokens)
        {
            if (RpcRetryPolicy.ReadStatusCodes(token.Value) is { } read)
            {
                codes.AddRange(read);
            }
            else
            {
                result.AddError(
                    $"--retry-status must be one of {string.Join(", ", RpcRetryPolicy.StatusNames)}, not "
                    + $"'{TerminalText.OneLine(token.Value, ToolCommand.MaxWord)}'.");
            }
        }

        return [.. codes];
    }
}

/// <summary>Writes each attempt that is followed by another one to standard error, for
/// <c>--verbose</c>.</summary>
internal sealed class RetryLog(ToolConsole console) : ILoggerFactory, ILogger
{
    /// <summary>The log of a command; null if it has no <c>--verbose</c>.</summary>
    public static RetryLog? Create(ParseResult parsed, ToolConsole console) =>
        parsed.CommandResult.Command.Options.OfType<ToolFlag>().Any(
            flag => flag.Name is "--verbose" or "--very-verbose" && parsed.GetValue(flag))
            ? new(console)
            : null;

    public ILogger CreateLogger(string categoryName) => this;

    public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (ClientLog.IsOfRetries(eventId))
        {
            console.WriteErrorLine(FlagNames.Rename(formatter(state, exception)));
        }
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public void AddProvider(ILoggerProvider provider) => throw new NotSupportedException();

    public void Dispose()
    {
    }
}
