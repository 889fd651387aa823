namespace ProtoRpc.TestRun;

/// <summary>What the command line asks for.</summary>
/// <param name="Suites">The suites to run; empty for all.</param>
/// <param name="Filter">Part of the names of the tests to run, or null for all.</param>
internal sealed record RunOptions(IReadOnlyList<string> Suites, string? Filter)
{
    /// <exception cref="ArgumentException">The arguments cannot be understood;
    /// the message says what can.</exception>
    public static RunOptions Parse(IReadOnlyList<string> arguments, IReadOnlyCollection<string> known)
    {
        List<string> suites = [];
        string? filter = null;
        for (int i = 0; i < arguments.Count; i += 2)
        {
            string value = i + 1 < arguments.Count
                ? arguments[i + 1]
                : throw new ArgumentException($"'{arguments[i]}' lacks its value. Usage: {UsageOf(known)}");
            switch (arguments[i])
            {
                case "--suite" when known.Contains(value):
                    suites.Add(value);
                    break;
                case "--suite":
                    throw new ArgumentException(
                        $"There is no suite '{value}', but {string.Join(", ", known)}.");
                case "--filter" when value.Length > 0:
                    filter = value;
                    break;
                default:
                    throw new ArgumentException(
                        $"'{arguments[i]}' is not understood. Usage: {UsageOf(known)}");
            }
        }

        return new RunOptions(suites, filter);
    }

    private static string UsageOf(IEnumerable<string> suites) =>
        $"dotnet run --project tests/run [-- [--suite {string.Join('|', suites)}]... [--filter TEXT]]";
}
