using System.Globalization;
using ProtoRpc.Benchmarks.Http;

namespace ProtoRpc.Benchmarks;

/// <summary>What is measured, and for how long.</summary>
internal sealed record BenchmarkOptions
{
    private IReadOnlyList<int>? _records;

    /// <summary>What can be measured.</summary>
    public static IReadOnlyList<string> KnownTransports { get; } = ["ncalrpc", "np", "tcp"];

    /// <summary>The experiments that a report can have.</summary>
    public static IReadOnlyList<string> KnownExperiments { get; } =
        ["rpc", "orders", "bindings", "raw", "shell", "codec", "scale"];

    /// <summary>The peers of a report: grpc-dotnet is a part of this program, the others are built from
    /// sources of ours with packages of a registry.</summary>
    public static IReadOnlyList<string> KnownPeers { get; } = ["grpc-dotnet", "grpc-cpp", "grpc-js"];

    /// <summary>The options of a report: all that is known, in the rounds of the original's
    /// benchmark.</summary>
    public static BenchmarkOptions OfReport { get; } = new()
    {
        Transports = KnownTransports,
        Rounds = 3,
        Round = TimeSpan.FromSeconds(5),
    };

    public IReadOnlyList<string> Transports { get; private init; } = ["ncalrpc", "tcp"];

    /// <summary>The peers of a report: one of <see cref="KnownPeers"/>, or NAME=PATH for a program that
    /// takes part.</summary>
    public IReadOnlyList<string> Peers { get; private init; } = KnownPeers;

    /// <summary>The folder or manifest of the module Pode; null to leave Pode out.</summary>
    public string? Pode { get; private init; }

    /// <summary>The stacks of the transport benchmark; see <see cref="CallKind"/>.</summary>
    public IReadOnlyList<string> Kinds { get; init; } =
        [CallKind.Raw, CallKind.Bound, CallKind.Generated, CallKind.Dynamic, CallKind.Hashtable];

    /// <summary>Words that name the HTTP and gRPC stacks that are measured; see
    /// <see cref="HttpStack.IsNamedBy"/>.</summary>
    public IReadOnlyList<string> Stacks { get; init; } = ["async"];

    /// <summary>The experiments of a report.</summary>
    public IReadOnlyList<string> Only { get; private init; } = KnownExperiments;

    // As they were given, but for the experiments and the folder.
    private string Given { get; init; } = "";

    /// <summary>Where a report is written.</summary>
    public string Folder { get; private init; } = Path.Combine("docs", "benchmarks");

    public int Clients { get; init; } = 5;

    public int Callers { get; init; } = 3;

    public int Rounds { get; private init; } = 5;

    // .NET programs reach their speed only after some seconds: methods are compiled again with what was seen.
    public TimeSpan WarmUp { get; private init; } = TimeSpan.FromSeconds(10);

    public TimeSpan Round { get; private init; } = TimeSpan.FromSeconds(2);

    /// <summary>How many records messages have, each number in turn.</summary>
    /// <param name="usual">The numbers where no option gives others.</param>
    public IReadOnlyList<int> RecordsOr(params int[] usual) => _records ?? usual;

    /// <summary>How is measured, for a report.</summary>
    public string Describe() => string.Create(
        CultureInfo.InvariantCulture,
        $"Processes: one server, {Clients} clients with {Callers} callers each. Each stack warms up for "
        + $"{WarmUp.TotalSeconds} s, and until nothing is compiled any more; then come {Rounds} rounds of "
        + $"{Round.TotalSeconds} s, in turns.");

    /// <summary>The command that measures one experiment in the same way again.</summary>
    public string CommandOf(string experiment) => $"report --only {experiment}{Given}";

    /// <param name="arguments">Names of options, each with its value behind it.</param>
    /// <param name="defaults">What holds unless said; null for the usual options.</param>
    /// <exception cref="ArgumentException">An option that is not known, lacks its value, or has one that
    /// makes no sense; the message says which.</exception>
    public static BenchmarkOptions Parse(IReadOnlyList<string> arguments, BenchmarkOptions? defaults = null)
    {
        BenchmarkOptions options = defaults ?? new();
        for (int i = 0; i < arguments.Count; i += 2)
        {
            string value = i + 1 < arguments.Count
                ? arguments[i + 1]
                : throw new ArgumentException($"{arguments[i]} lacks its value.");
            options = arguments[i] switch
            {
                "--transports" => options with { Transports = [.. value.Split(',').Select(Transport)] },
                "--records" => options with { _records = [.. value.Split(',').Select(Number)] },
                "--kinds" => options with { Kinds = [.. value.Split(',').Select(Kind)] },
                "--stacks" => options with { Stacks = StacksOf(value) },
                "--only" => options with { Only = [.. value.Split(',').Select(Experiment)] },
                "--peers" => options with { Peers = Named(value) },
                "--pode" => options with { Pode = Existing(value) },
                "--out" => options with { Folder = value },
                "--clients" => options with { Clients = OneOrMore(value) },
                "--callers" => options with { Callers = OneOrMore(value) },
                "--rounds" => options with { Rounds = OneOrMore(value) },
                "--warmup" => options with { WarmUp = Seconds(value) },
                "--seconds" => options with { Round = Seconds(value) },
                _ => throw new ArgumentException($"{arguments[i]} is not an option."),
            };
            if (arguments[i] is not ("--only" or "--out"))
            {
                options = options with { Given = $"{options.Given} {arguments[i]} {value}" };
            }
        }

        return options;
    }

    private static string Transport(string name) => KnownTransports.Contains(name)
        ? name
        : throw new ArgumentException(
            $"The transport '{name}' is not measured. Use {string.Join(", ", KnownTransports)}.");

    private static string Experiment(string name) => KnownExperiments.Contains(name)
        ? name
        : throw new ArgumentException(
            $"The experiment '{name}' is not known. Use {string.Join(", ", KnownExperiments)}.");

    private static string Kind(string name) => CallKind.All.Contains(name)
        ? name
        : throw new ArgumentException(
            $"The stack '{name}' is not measured. Use {string.Join(", ", CallKind.All)}.");

    private static string[] StacksOf(string words) =>
        words == "none" ? [] : [.. words.Split(',').Select(Stack)];

    private static string Stack(string word) => HttpStack.All.Any(stack => stack.IsNamedBy(word))
        ? word
        : throw new ArgumentException(
            $"No HTTP or gRPC stack is named '{word}'. Use a word of "
            + $"'{HttpStack.All[0].Title}' or '{HttpStack.All[^1].Title}', async, or none.");

    private static string[] Named(string peers) =>
        peers == "none" ? [] : [.. peers.Split(',').Select(Peer)];

    private static string Peer(string text)
    {
        string[] parts = text.Split('=', 2);
        if (parts.Length == 2)
        {
            return parts[0].Length > 0
                ? $"{parts[0]}={Existing(parts[1])}"
                : throw new ArgumentException($"The peer '{text}' has no name. Use NAME=PATH.");
        }

        return KnownPeers.Contains(text)
            ? text
            : throw new ArgumentException(
                $"The peer '{text}' is not known. Use {string.Join(", ", KnownPeers)} or NAME=PATH.");
    }

    private static string Existing(string path) => Path.Exists(path)
        ? Path.GetFullPath(path)
        : throw new ArgumentException($"'{path}' does not exist.");

    private static int Number(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number)
            ? number
            : throw new ArgumentException($"'{text}' is not a whole number of 0 or more.");

    private static int OneOrMore(string text) => Number(text) is > 0 and int number
        ? number
        : throw new ArgumentException($"'{text}' is too few. Use 1 or more.");

    private static TimeSpan Seconds(string text) =>
        double.TryParse(
            text, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double seconds)
            ? TimeSpan.FromSeconds(seconds)
            : throw new ArgumentException($"'{text}' is not a number of seconds.");
}
