using System.Globalization;
using ProtoRpc.Fuzz.Targets;

namespace ProtoRpc.Fuzz;

/// <summary>What the command line asks for.</summary>
internal sealed record FuzzOptions
{
    private const string Usage = """
        dotnet run -c Release --project tests/fuzz -- [options]
          --seconds 120    how long; 0 for no end
          --seed 1         the same seed makes the same inputs
          --target NAME    only this target; may be repeated
          --input FILE     runs one saved input, of the one --target, and no other
          --out FOLDER     where failing inputs are saved; artifacts/fuzz
          --report FILE    writes the result as JSON, for the test command
          --record         adds the counts to docs/reliability.md
        dotnet run -c Release --project tests/fuzz -- report SECTION FILE
          puts a Markdown file into a section of docs/reliability.md
        """;

    public int Seconds { get; private init; } = 120;

    public int Seed { get; private init; } = 1;

    public IReadOnlyList<string> Targets { get; private init; } = [];

    public string? Input { get; private init; }

    public string Out { get; private init; } = Path.Combine(Root.Folder, "artifacts", "fuzz");

    public string? Report { get; private init; }

    public bool Record { get; private init; }

    /// <exception cref="ArgumentException">The arguments are wrong; the message says how.</exception>
    public static FuzzOptions Parse(IReadOnlyList<string> args)
    {
        FuzzOptions options = new();
        for (int i = 0; i < args.Count; i++)
        {
            if (args[i] == "--record")
            {
                options = options with { Record = true };
                continue;
            }

            string name = args[i];
            string value = ++i < args.Count
                ? args[i]
                : throw new ArgumentException($"'{name}' is unknown or lacks its value.\n{Usage}");
            options = name switch
            {
                "--seconds" => options with { Seconds = Number(value, 0) },
                "--seed" => options with { Seed = Number(value, int.MinValue) },
                "--target" => options with { Targets = [.. options.Targets, Known(value)] },
                "--input" => options with { Input = Path.GetFullPath(value) },
                "--out" => options with { Out = Path.GetFullPath(value) },
                "--report" => options with { Report = Path.GetFullPath(value) },
                _ => throw new ArgumentException($"'{name}' is unknown.\n{Usage}"),
            };
        }

        return options.Input is null || options.Targets.Count == 1
            ? options
            : throw new ArgumentException($"--input needs the one --target that it is an input of.\n{Usage}");
    }

    private static string Known(string name) => TargetTable.Names.Contains(name)
        ? name
        : throw new ArgumentException(
            $"There is no target '{name}', but {string.Join(", ", TargetTable.Names)}.");

    private static int Number(string text, int least) =>
        int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number)
        && number >= least
            ? number
            : throw new ArgumentException($"'{text}' is no number that can stand here.\n{Usage}");
}
