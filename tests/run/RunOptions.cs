namespace ProtoRpc.TestRun;

/// <summary>The options of the command line.</summary>
internal sealed record RunOptions
{
    /// <summary>The suites to run; empty for those of <see cref="All"/>, <see cref="IsQuick"/> or the
    /// default.</summary>
    public IReadOnlyList<string> Suites { get; private init; } = [];

    /// <summary>Part of the names of the tests to run, or null for all.</summary>
    public string? Filter { get; private init; }

    /// <summary>Whether to run every suite.</summary>
    public bool All { get; private init; }

    /// <summary>Whether to run only the tests that are fast enough to wait for between two edits.</summary>
    public bool IsQuick { get; private init; }

    /// <summary>The cmdlets whose tests a quick run includes; empty for the cmdlets that changed.</summary>
    public IReadOnlyList<string> Cmdlets { get; private init; } = [];

    /// <summary>Whether fuzzing and the mixed load take minutes instead of seconds.</summary>
    public bool IsLong { get; private init; }

    /// <exception cref="ArgumentException">An argument is invalid. The message lists the valid
    /// ones.</exception>
    public static RunOptions Parse(IReadOnlyList<string> arguments, IReadOnlyCollection<string> known)
    {
        RunOptions options = new();
        for (int i = 0; i < arguments.Count; i++)
        {
            options = arguments[i] switch
            {
                "--all" => options with { All = true },
                "--long" => options with { IsLong = true },
                "--quick" => options with { IsQuick = true },
                "--suite" => options with { Suites = [.. options.Suites, Known(ValueAt(++i), known)] },
                "--filter" => options with { Filter = ValueAt(++i) },
                { } name when options.IsQuick && name is [not '-', ..] =>
                    options with { Cmdlets = [.. options.Cmdlets, name] },
                { } other => throw new ArgumentException(
                    $"'{other}' is not understood. Usage:\n{UsageOf(known)}"),
            };
        }

        int scopes = (options.All ? 1 : 0) + (options.IsQuick ? 1 : 0) + (options.Suites.Count > 0 ? 1 : 0);
        return scopes <= 1
            ? options
            : throw new ArgumentException("--all, --quick and --suite cannot be combined. Give one of them.");

        string ValueAt(int index) => index < arguments.Count && arguments[index].Length > 0
            ? arguments[index]
            : throw new ArgumentException(
                $"'{arguments[index - 1]}' lacks its value. Usage:\n{UsageOf(known)}");
    }

    private static string Known(string suite, IReadOnlyCollection<string> known) => known.Contains(suite)
        ? suite
        : throw new ArgumentException($"There is no suite '{suite}', but {string.Join(", ", known)}.");

    private static string UsageOf(IEnumerable<string> suites) => $"""
        dotnet run --project tests/run [-- OPTIONS]
          --all                 runs every suite
          --suite NAME          runs this suite; may be repeated: {string.Join(", ", suites)}
          --quick [CMDLET ...]  runs style, unit, and the Pester tests of these cmdlets, or of what changed
          --filter TEXT         runs only tests whose names contain the text
          --long                fuzz and long-run take minutes instead of seconds, and windows has all tests
        dotnet run --project tests/run -- pack [OPTIONS]
          packs the module, the packages and the tool
        """;
}
