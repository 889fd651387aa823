using ProtoRpc.Benchmarks.Bindings;
using ProtoRpc.Benchmarks.Codec;
using ProtoRpc.Benchmarks.Orders;
using ProtoRpc.Benchmarks.Raw;
using ProtoRpc.Benchmarks.Rpc;
using ProtoRpc.Benchmarks.Scale;
using ProtoRpc.Benchmarks.Shell;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>Runs experiments and writes a page with a chart for each.</summary>
internal static class ReportCommand
{
    public static void Run(BenchmarkOptions options)
    {
        Directory.CreateDirectory(options.Folder);
        foreach (string name in options.Only)
        {
            Action<string, BenchmarkOptions> write = name switch
            {
                "rpc" => RpcBenchmark.Write,
                "orders" => OrdersBenchmark.Write,
                "bindings" => BindingsBenchmark.Write,
                "raw" => RawBenchmark.Write,
                "shell" => ShellBenchmark.Write,
                "scale" => ScaleBenchmark.Write,
                _ => CodecPage.Write,
            };
            write(options.Folder, options);
        }
    }
}
