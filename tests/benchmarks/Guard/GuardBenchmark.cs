using ProtoRpc.Benchmarks.Scale;

namespace ProtoRpc.Benchmarks.Guard;

/// <summary>Measures what must not get worse unnoticed and depends little on the speed of the machine: the
/// memory of idle connections, the import of the module, and the memory of long runs.</summary>
internal static class GuardBenchmark
{
    private static readonly Dictionary<string, Func<IEnumerable<GuardFigure>>> Guards = new()
    {
        ["idle"] = () =>
        [
            IdleConnections.Measure("TCP", "ncacn_ip_tcp:127.0.0.1[0]", most: 16),
            IdleConnections.Measure("HTTP", "http://127.0.0.1:0/", most: 16),
        ],
        ["import"] = () => [ImportTime.Measure()],
        ["calls"] = () => LongRun.Stacks.SelectMany(
            stack => LongRun.Measure(stack.What, stack.Kind, stack.Address, stack.Calls)),
        ["scale"] = ScaleBenchmark.Guard,
    };

    /// <param name="names">What to measure; empty for idle and import.</param>
    /// <returns>0 if all figures are within their bounds, otherwise 1.</returns>
    /// <exception cref="ArgumentException">A name that is not known.</exception>
    public static int Run(string[] names)
    {
        string[] wanted = names.Length > 0 ? names : ["idle", "import"];
        if (wanted.FirstOrDefault(name => !Guards.ContainsKey(name)) is { } wrong)
        {
            throw new ArgumentException($"'{wrong}' is no guard. Use {string.Join(", ", Guards.Keys)}.");
        }

        List<GuardFigure> figures = [];
        foreach (string name in wanted)
        {
            figures.AddRange(Guards[name]());
        }

        ResultTable table = new("what".PadRight(48), "figure", "at most", "");
        figures.ForEach(figure => table.Row(figure.Cells));
        return figures.TrueForAll(figure => figure.IsKept) ? 0 : 1;
    }
}
