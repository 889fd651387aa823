using System.CommandLine;
using ProtoRpc.Tool.Answers;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of the verbs that serve which say what is printed and logged, and how long calls may
/// take.</summary>
internal sealed class ServingOptions
{
    private readonly Option<string?> _accessLog = new("--access-log")
    {
        Description = "Appends a line of JSON for every call to a file, also for refused ones.",
        HelpName = "FILE",
    };

    private readonly Option<bool> _quiet = new("--quiet", "-q")
    {
        Description = "Does not print the calls.",
    };

    private readonly Option<double?> _timeout = new("--handler-timeout")
    {
        Description = "The longest time of a call in seconds, also for callers with a later deadline. No "
            + "limit by default.",
        HelpName = "SECONDS",
        CustomParser = NumberArgument.ParseOptional,
    };

    public ServingOptions(Command command)
    {
        _accessLog.RequirePath();
        command.Add(_accessLog);
        command.Add(_quiet);
        command.Add(_timeout);
    }

    /// <summary>Adds what these options say to those of a server.</summary>
    /// <exception cref="UsageException">The time is no time.</exception>
    public void Apply(
        ParseResult parsed, RpcServerOptions options, Func<IReadOnlyList<RpcServiceInfo>> served,
        ToolConsole console)
    {
        options.Warned = console.WriteError;
        if (parsed.GetValue(_accessLog) is { } path)
        {
            options.AccessLog = RpcAccessLog.ToFile(path, console.WriteError);
        }

        if (!parsed.GetValue(_quiet))
        {
            options.Interceptors = [new CallPrinter(console, served), .. options.Interceptors];
        }

        if (parsed.GetValue(_timeout) is { } seconds)
        {
            options.Limits.HandlerTimeout = seconds is > 0 and <= int.MaxValue / 1000
                ? TimeSpan.FromSeconds(seconds)
                : throw new UsageException($"{_timeout.Name} takes seconds, over 0.");
        }
    }
}
