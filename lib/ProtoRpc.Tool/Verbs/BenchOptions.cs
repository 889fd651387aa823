using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of <c>protorpc bench</c> that say how much is called, and what is printed.</summary>
internal sealed class BenchOptions
{
    private readonly Option<double?> _duration = new("--duration")
    {
        Description = "Seconds to measure: 10, unless --count is given.",
        HelpName = "SECONDS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly Option<long?> _count = new("--count", "-n")
    {
        Description = "Calls to make.",
        HelpName = "CALLS",
    };

    private readonly Option<double?> _warmUp = new("--warmup")
    {
        Description = "Seconds to call before the measurement: 1, or 0 with --count.",
        HelpName = "SECONDS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly Option<int> _concurrency = new("--concurrency", "-c")
    {
        Description = "Callers that call at the same time.",
        HelpName = "CALLERS",
        DefaultValueFactory = _ => new RpcLoadOptions().Concurrency,
    };

    private readonly Option<int> _connections = new("--connections")
    {
        Description = "Clients with connections of their own, over which the callers are spread.",
        HelpName = "CLIENTS",
        DefaultValueFactory = _ => 1,
    };

    private readonly Option<double?> _rate = new("--rate")
    {
        Description =
            "Calls a second, whether or not the server keeps up; latency counts from when a call was due.",
        HelpName = "CALLS",
        CustomParser = NumberArgument.ParseOptional,
    };

    private readonly Option<long?> _maxErrors = new("--max-errors")
    {
        Description = "Calls that may fail before the test ends; by default it ends when the first 100 fail.",
        HelpName = "CALLS",
    };

    private readonly Option<bool> _histogram = new("--histogram")
    {
        Description = "Also prints the distribution of the latencies.",
    };

    private readonly Option<string> _format = new("--format")
    {
        Description = "What is printed.",
        HelpName = "text|json",
        DefaultValueFactory = _ => "text",
    };

    public BenchOptions(Command command)
    {
        _format.AcceptOnlyFromAmong("text", "json");
        foreach (Option option in new Option[]
        {
            _duration, _count, _warmUp, _concurrency, _connections, _rate, _maxErrors, _histogram,
            _format,
        })
        {
            command.Add(option);
        }
    }

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_format) == "json";

    public int Connections(ParseResult parsed)
    {
        if (parsed.GetValue(_concurrency) < 1)
        {
            throw new UsageException("--concurrency takes 1 caller or more.");
        }

        int connections = parsed.GetValue(_connections);
        return connections >= 1 && connections <= parsed.GetValue(_concurrency)
            ? connections
            : throw new UsageException("--connections takes 1 up to the callers of --concurrency.");
    }

    public RpcLoadOptions ToOptions(ParseResult parsed, TimeSpan deadline)
    {
        long? count = parsed.GetValue(_count);
        TimeSpan? duration = Seconds("--duration", parsed.GetValue(_duration));
        return new RpcLoadOptions
        {
            Count = count,
            Duration = duration ?? (count is null ? BenchVerb.DefaultDuration : null),
            WarmUp = Seconds("--warmup", parsed.GetValue(_warmUp))
                ?? (count is null ? BenchVerb.DefaultWarmUpTime : TimeSpan.Zero),
            Concurrency = parsed.GetValue(_concurrency),
            Rate = parsed.GetValue(_rate),
            MaxErrors = parsed.GetValue(_maxErrors),
            Histogram = parsed.GetValue(_histogram),
            CallOptions = new RpcCallOptions { Timeout = deadline },
        };
    }

    private static TimeSpan? Seconds(string option, double? seconds)
    {
        if (seconds is not { } value)
        {
            return null;
        }

        return value >= 0 && value <= RpcLoadOptions.MaxDuration.TotalSeconds
            ? TimeSpan.FromSeconds(value)
            : throw new UsageException(
                $"{option} takes seconds, 0 to {RpcLoadOptions.MaxDuration.TotalSeconds:0}.");
    }
}
