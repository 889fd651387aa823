using System.Globalization;

namespace ProtoRpc.LongRun;

/// <summary>What the command line asks for.</summary>
internal sealed record LongRunOptions
{
    private const string Usage = """
        dotnet run -c Release --project tests/longrun -- [options]
          --seconds 3600   how long the load lasts, at least 20
          --rate 200       calls in a second, of all callers together
          --cycles 500     listeners that are started and stopped before the load
          --seed 1         the same seed makes the same choices
          --no-shell       leaves out the module in PowerShell
          --leak NAME      leaks handles, threads or memory on purpose, which the run must find
          --report FILE    writes the result as JSON, for the test command
          --record         writes the result into docs/reliability.md, with a plot
        """;

    public int Seconds { get; private init; } = 3600;

    public int Rate { get; private init; } = 200;

    public int Cycles { get; private init; } = 500;

    public int Seed { get; private init; } = 1;

    public bool HasShell { get; private init; } = true;

    public Leak Leak { get; private init; }

    public string? Report { get; private init; }

    public bool Record { get; private init; }

    /// <exception cref="ArgumentException">The arguments are wrong; the message says how.</exception>
    public static LongRunOptions Parse(IReadOnlyList<string> args)
    {
        LongRunOptions options = new();
        for (int i = 0; i < args.Count; i++)
        {
            string name = args[i];
            options = name switch
            {
                "--record" => options with { Record = true },
                "--no-shell" => options with { HasShell = false },
                "--seconds" => options with { Seconds = Number(20) },
                "--rate" => options with { Rate = Number(1) },
                "--cycles" => options with { Cycles = Number(0) },
                "--seed" => options with { Seed = Number(int.MinValue) },
                "--leak" => options with { Leak = LeakOf(Value()) },
                "--report" => options with { Report = Path.GetFullPath(Value()) },
                _ => throw new ArgumentException($"'{name}' is unknown.\n{Usage}"),
            };

            string Value() => ++i < args.Count
                ? args[i]
                : throw new ArgumentException($"'{name}' lacks its value.\n{Usage}");

            int Number(int least) =>
                int.TryParse(
                    Value(), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number)
                && number >= least
                    ? number
                    : throw new ArgumentException($"'{args[i]}' is no number for '{name}'.\n{Usage}");
        }

        return options;
    }

    private static Leak LeakOf(string text) =>
        Enum.TryParse(text, ignoreCase: true, out Leak leak) && Enum.IsDefined(leak)
            ? leak
            : throw new ArgumentException($"'{text}' is nothing that can leak.\n{Usage}");
}
