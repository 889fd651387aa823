using System.CommandLine;
using ProtoRpc.Calls;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of the verbs that call a server.</summary>
internal sealed class CallOptions
{
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
            if (result.Tokens.Count > 0
                && !(result.GetValueOrDefault<double>() is > 0 and < int.MaxValue / 1000))
            {
                result.AddError("--deadline takes a positive number of seconds.");
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
