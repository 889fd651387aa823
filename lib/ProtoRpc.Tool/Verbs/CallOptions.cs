using System.CommandLine;
using System.CommandLine.Parsing;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of the verbs that call a server.</summary>
internal sealed class CallOptions
{
    // What timers take, in milliseconds.
    private const int MaxSeconds = int.MaxValue / 1000;

    private readonly Option<double?> _deadline = new("--max-time", "--deadline")
    {
        Description = "Seconds that a call may take with all that it needs before: "
            + $"{RpcLimits.Default.CallTimeout.TotalSeconds:0}, and for ever for streams.",
        HelpName = "SECONDS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly Option<double?> _connectTimeout = new("--connect-timeout")
    {
        Description = "Seconds to connect: those of --max-time, or "
            + $"{RpcLimits.Default.ConnectTimeout.TotalSeconds:0}.",
        HelpName = "SECONDS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly Option<double?> _keepAlive = new("--keepalive-time")
    {
        Description = "Seconds after which a gRPC connection with calls on it asks whether the server is "
            + "still there.",
        HelpName = "SECONDS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly Option<int?> _maxMessage = new("--max-msg-sz")
    {
        Description = $"The largest message, in bytes: {RpcLimits.Default.MaxMessageBytes:N0}.",
        HelpName = "BYTES",
    };

    private readonly Option<Guid?> _interfaceId = new("--interface-id")
    {
        Description = "The interface id on native endpoints, where it is not the service's own.",
        HelpName = "GUID",
    };

    public CallOptions(Command command)
    {
        foreach (Option<double?> option in new[] { _deadline, _connectTimeout, _keepAlive })
        {
            option.Validators.Add(result => CheckSeconds(option.Name, result));
            command.Add(option);
        }

        _maxMessage.Validators.Add(result =>
        {
            if (result.Tokens is [{ Value: string text }] && int.TryParse(text, out int bytes) && bytes < 1)
            {
                result.AddError($"{_maxMessage.Name} takes bytes, 1 to {int.MaxValue}.");
            }
        });
        command.Add(_maxMessage);
        command.Add(_interfaceId);
    }

    /// <summary>How long a call with one message each way may take.</summary>
    public TimeSpan Deadline(ParseResult parsed) => Given(parsed, _deadline) ?? RpcLimits.Default.CallTimeout;

    /// <summary>How long the whole command may take; null where nothing was said.</summary>
    public TimeSpan? MaxTime(ParseResult parsed) => Given(parsed, _deadline);

    public RpcClientOptions ClientOptions(ParseResult parsed, string? service)
    {
        RpcLimits usual = RpcLimits.Default;
        return new RpcClientOptions
        {
            Service = service,
            InterfaceId = parsed.GetValue(_interfaceId),
            KeepAlive = Given(parsed, _keepAlive),
            Limits = usual with
            {
                ConnectTimeout =
                    Given(parsed, _connectTimeout) ?? Given(parsed, _deadline) ?? usual.ConnectTimeout,
                CallTimeout = Deadline(parsed),
                MaxMessageBytes = parsed.GetValue(_maxMessage) ?? usual.MaxMessageBytes,
            },
        };
    }

    private static TimeSpan? Given(ParseResult parsed, Option<double?> option) =>
        parsed.GetValue(option) is { } seconds ? TimeSpan.FromSeconds(seconds) : null;

    private static void CheckSeconds(string name, OptionResult result)
    {
        // The validator also runs on text that is not a number, which has its own error.
        if (result.Tokens is [{ Value: string text }]
            && NumberArgument.TryParse(text, out double seconds)
            && seconds is not (> 0 and < MaxSeconds))
        {
            result.AddError($"{name} takes seconds, over 0 and below {MaxSeconds}.");
        }
    }
}
