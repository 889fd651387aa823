using System.CommandLine;
using System.Globalization;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of the verbs that call a server.</summary>
internal sealed class CallOptions
{
    // What timers take, in milliseconds.
    private const int MaxSeconds = int.MaxValue / 1000;

    private readonly Option<double> _deadline = new("--deadline")
    {
        Description = "Seconds to connect and to wait for the reply.",
        HelpName = "SECONDS",
        DefaultValueFactory = _ => RpcLimits.Default.CallTimeout.TotalSeconds,
    };

    private readonly Option<Guid?> _interfaceId = new("--interface-id")
    {
        Description = "The interface id on native endpoints, where it is not the service's own.",
        HelpName = "GUID",
    };

    public CallOptions(Command command)
    {
        _deadline.Validators.Add(result =>
        {
            // The validator also runs on text that is not a number, which has its own error.
            if (result.Tokens is [{ Value: string text }]
                && double.TryParse(text, CultureInfo.InvariantCulture, out double seconds)
                && seconds is not (> 0 and < MaxSeconds))
            {
                result.AddError($"--deadline takes seconds, over 0 and below {MaxSeconds}.");
            }
        });
        command.Add(_deadline);
        command.Add(_interfaceId);
    }

    public TimeSpan Deadline(ParseResult parsed) => TimeSpan.FromSeconds(parsed.GetValue(_deadline));

    public RpcClientOptions ClientOptions(ParseResult parsed, string? service)
    {
        TimeSpan deadline = Deadline(parsed);
        return new RpcClientOptions
        {
            Service = service,
            InterfaceId = parsed.GetValue(_interfaceId),
            Limits = RpcLimits.Default with { ConnectTimeout = deadline, CallTimeout = deadline },
        };
    }
}
