using System.CommandLine;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of <c>protorpc bench</c> that say what is sent.</summary>
internal sealed class BenchRequests
{
    private const int MaxStreamLength = 100_000;

    private readonly Option<string?> _message = new("--message", "-m", "-d")
    {
        Description = "The request as JSON text, @FILE, or - for standard input; an array has the messages "
            + "of a stream of requests. The default is an empty message.",
        HelpName = "JSON",
    };

    private readonly Option<bool> _random = new("--random")
    {
        Description = "Sends random valid messages.",
    };

    private readonly Option<int> _seed = new("--seed")
    {
        Description = "The same seed makes the same random messages.",
        HelpName = "NUMBER",
    };

    private readonly Option<int> _size = new("--max-size")
    {
        Description = "The largest random message, in bytes.",
        HelpName = "BYTES",
        DefaultValueFactory = _ => new RpcRandomMessageOptions().MaxBytes,
    };

    private readonly Option<int?> _streamLength = new("--stream-length")
    {
        Description = "Messages of each stream of requests: 10 random ones, or the one of --message again.",
        HelpName = "MESSAGES",
    };

    // Standard input is read once, for all endpoints.
    private string? _json;

    public BenchRequests(Command command)
    {
        foreach (Option option in new Option[] { _message, _random, _seed, _size, _streamLength })
        {
            command.Add(option);
        }
    }

    public RpcLoadRequests Read(ParseResult parsed, RpcMethodInfo method, TextReader input)
    {
        string? text = parsed.GetValue(_message);
        int? length = parsed.GetValue(_streamLength);
        if (length is not null && !method.IsClientStreaming)
        {
            throw new UsageException(
                $"--stream-length is for streams of requests; {method.FullName} has none.");
        }

        if (parsed.GetValue(_random))
        {
            if (text is not null)
            {
                throw new UsageException("Give the request with --message or --random, not with both.");
            }

            RpcRandomMessageOptions options = new()
            {
                Seed = parsed.GetValue(_seed),
                MaxBytes = parsed.GetValue(_size),
            };
            options.StreamLength = length ?? options.StreamLength;
            return RpcLoadRequests.Random(method, options);
        }

        object[] requests = text is null
            ? [new DynamicMessage(method.RequestType)]
            : [.. JsonArgument.Read(
                method.RequestType, _json ??= JsonArgument.Text(text, input), method.IsClientStreaming,
                "--message")];
        return RpcLoadRequests.Same(
            method, length is { } times ? [.. Cycle(requests, times)] : requests);
    }

    private static IEnumerable<object> Cycle(object[] messages, int times) =>
        messages.Length is > 0 and var count && times is > 0 and <= MaxStreamLength
            ? Enumerable.Range(0, times).Select(i => messages[i % count])
            : throw new UsageException(
                $"--stream-length takes 1 to {MaxStreamLength:N0}, and a --message that is no empty array.");
}
