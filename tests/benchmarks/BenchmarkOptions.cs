using System.Globalization;

namespace ProtoRpc.Benchmarks;

/// <summary>What is measured, and for how long.</summary>
internal sealed record BenchmarkOptions
{
    public IReadOnlyList<string> Transports { get; private init; } = ["ncalrpc", "tcp"];

    public IReadOnlyList<int> Records { get; private init; } = [0];

    public int Clients { get; private init; } = 5;

    public int Callers { get; private init; } = 3;

    public int Rounds { get; private init; } = 5;

    // .NET programs reach their speed only after some seconds: methods are compiled again with what was seen.
    public TimeSpan WarmUp { get; private init; } = TimeSpan.FromSeconds(10);

    public TimeSpan Round { get; private init; } = TimeSpan.FromSeconds(2);

    /// <exception cref="ArgumentException">An option that is not known, or lacks its value.</exception>
    public static BenchmarkOptions Parse(IReadOnlyList<string> arguments)
    {
        BenchmarkOptions options = new();
        for (int i = 0; i < arguments.Count; i += 2)
        {
            string value = i + 1 < arguments.Count
                ? arguments[i + 1]
                : throw new ArgumentException($"{arguments[i]} lacks its value.");
            options = arguments[i] switch
            {
                "--transports" => options with { Transports = value.Split(',') },
                "--records" => options with { Records = [.. value.Split(',').Select(Number)] },
                "--clients" => options with { Clients = Number(value) },
                "--callers" => options with { Callers = Number(value) },
                "--rounds" => options with { Rounds = Number(value) },
                "--warmup" => options with { WarmUp = Seconds(value) },
                "--seconds" => options with { Round = Seconds(value) },
                _ => throw new ArgumentException($"{arguments[i]} is not an option."),
            };
        }

        return options;
    }

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);

    private static TimeSpan Seconds(string text) =>
        TimeSpan.FromSeconds(double.Parse(text, CultureInfo.InvariantCulture));
}
