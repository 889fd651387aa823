using ProtoRpc.Benchmarks.Bindings;
using ProtoRpc.Benchmarks.Orders;
using ProtoRpc.Benchmarks.Raw;
using ProtoRpc.Benchmarks.Rpc;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>Runs experiments and writes a page with a chart for each.</summary>
internal static class ReportCommand
{
    private static readonly IReadOnlyDictionary<string, Action<string, BenchmarkOptions>> Experiments =
        new Dictionary<string, Action<string, BenchmarkOptions>>
        {
            ["rpc"] = RpcBenchmark.Write,
            ["orders"] = OrdersBenchmark.Write,
            ["bindings"] = BindingsBenchmark.Write,
            ["raw"] = RawBenchmark.Write,
        };

    /// <summary>The experiments, as <c>--only</c> names them.</summary>
    public static IReadOnlyCollection<string> Names { get; } = [.. Experiments.Keys];

    public static void Run(BenchmarkOptions options)
    {
        Directory.CreateDirectory(options.Folder);
        foreach (string name in options.Only)
        {
            Experiments[name](options.Folder, options);
        }
    }
}
