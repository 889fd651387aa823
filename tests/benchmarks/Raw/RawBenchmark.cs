using System.Globalization;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Raw;

/// <summary>What the raw library was advertised with: small and large echoes, and many processes with many
/// threads of which none loses a call.</summary>
internal static class RawBenchmark
{
    private static readonly int[] Sizes = [512, 1 << 20];
    private static readonly (string Title, string Endpoint)[] Transports =
    [
        ("local", "ncalrpc:[NAME]"),
        ("named pipe", @"ncacn_np:[\pipe\NAME]"),
        ("TCP", "ncacn_ip_tcp:127.0.0.1[0]"),
    ];

    public static void Write(string folder, BenchmarkOptions options)
    {
        List<ChartPanel> panels = [];
        List<string[]> rows = [];
        foreach (int size in Sizes)
        {
            IReadOnlyList<TransportResult> results = StackTurns.Measure(
                "raw",
                size,
                [.. Transports.Select(transport => Start(transport.Endpoint, size, options))],
                options);
            panels.Add(new(Bytes(size), [.. results.Zip(Transports, (result, transport) => ChartBar.Of(
                transport.Title, [.. result.Rounds.Select(round => round.CallsPerSecond)]))]));
            rows.AddRange(results.Zip(Transports, (result, transport) => new[]
            {
                Bytes(size),
                transport.Title,
                ResultTable.Rate(result.CallsPerSecond),
                ResultTable.Rate(result.CallsPerSecond * size * 2 / (1 << 20)),
                result.MedianMicroseconds.ToString("N0", CultureInfo.InvariantCulture),
            }));
        }

        new ReportPage(folder, "raw", "The raw layer: echoes, and many callers")
            .Paragraph(
                """
                Callers send bytes over the raw layer and compare what comes back with what they sent. Each
                call has a number of its own, so that a lost or exchanged reply fails the run.
                """)
            .Paragraph(options.Describe())
            .Chart("Echoes", "calls/s", panels)
            .Table(["message", "transport", "calls/s", "MiB/s, both ways", "median, microseconds"], rows)
            .Heading("Ten processes with ten threads each")
            .Paragraph(MeasureCrowd(options))
            .Save(options.CommandOf("raw"));
    }

    // The claim: a test of 10 processes with 10 threads each does not fail when messages grow.
    private static string MeasureCrowd(BenchmarkOptions options)
    {
        const int Records = 100;
        IReadOnlyList<TransportResult> results = StackTurns.Measure(
            "local",
            Records,
            [
                () => WorkerStack.Start(
                    CallKind.Generated, $"ncalrpc:[ProtoRpcCrowd{Environment.ProcessId}]", Records, default,
                    options with { Clients = 10, Callers = 10 }),
            ],
            options);
        long calls = results[0].Rounds.Sum(round => round.Calls);
        return $"Each of 100 callers sends and receives messages of {Records} records over a local endpoint: "
            + $"{ResultTable.Rate(calls)} calls were made, {ResultTable.Rate(results[0].CallsPerSecond)} a "
            + "second, and every one was answered. A call that fails ends the run with its error.";
    }

    private static Func<WorkerStack> Start(string endpoint, int size, BenchmarkOptions options) => () =>
        WorkerStack.Start(
            ExperimentRole.Echo,
            endpoint.Replace("NAME", $"ProtoRpcEcho{Environment.ProcessId}", StringComparison.Ordinal),
            size, default, options);

    private static string Bytes(int size) => size < 1024 ? $"{size} bytes" : $"{size >> 20} MiB";
}
