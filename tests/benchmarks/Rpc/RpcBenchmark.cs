using System.Globalization;
using ProtoRpc.Benchmarks.Http;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Security;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Rpc;

/// <summary>The RPC benchmark: one server process, several client processes with several threads each, over
/// every transport, with messages made for each call on both sides.</summary>
internal static class RpcBenchmark
{
    private static readonly int[] Sizes = [0, 10, 100, 1000];

    private static readonly (string Name, string Title, string[] Kinds)[] Transports =
    [
        ("ncalrpc", "local",
        [
            CallKind.Raw, CallKind.Bound, CallKind.Generated, CallKind.Dynamic, CallKind.Hashtable,
            CallKind.As(CallKind.Generated, CallSecurity.Self),
        ]),
        ("np", "named pipe", [CallKind.Generated, CallKind.As(CallKind.Generated, CallSecurity.Self)]),
        ("tcp", "TCP",
        [
            CallKind.Raw, CallKind.Bound, CallKind.Generated, CallKind.Dynamic, CallKind.Hashtable,
            CallKind.As(CallKind.Generated, CallSecurity.Integrity),
            CallKind.As(CallKind.Generated, CallSecurity.Privacy),
        ]),
    ];

    public static void Write(string folder, BenchmarkOptions options)
    {
        List<ChartPanel> panels = [];
        List<string[]> rows = [];
        foreach (int records in Sizes)
        {
            List<ChartBar> bars = [];
            foreach ((string name, string title, string[] kinds) in Transports)
            {
                IReadOnlyList<TransportResult> results =
                    TransportBenchmark.Measure(name, records, options with { Kinds = kinds });
                Add(records, results, result => $"{title}, {TitleOf(result.Kind)}", bars, rows);
            }

            Add(records, HttpBenchmark.Measure(records, options), HttpBenchmark.TitleOf, bars, rows);
            panels.Add(new($"{records} records", bars));
        }

        new ReportPage(folder, "rpc", "The RPC benchmark")
            .Paragraph(
                """
                Each request and each reply has 0, 10, 100 or 1000 records of 32 random bytes, their base64,
                an integer, a double and a time, and is made new for its call on both sides.
                """)
            .Paragraph(options.Describe())
            .Paragraph(
                """
                A bar is the average of the rounds; its line goes from the worst round to the best one.
                **raw** is a bare socket that carries as many bytes. **bound** is a bare socket with generated
                code that makes, encodes and decodes the messages: what an ideal RPC costs. The ratio to the
                bound is the median of the ratios of the rounds. The minimal API is ASP.NET Core with
                HttpClient and System.Text.Json.
                """)
            .Chart("Calls of all callers", "calls/s", panels)
            .Table(
                ["records", "stack", "calls/s", "of the bound", "a caller: worst, average, best",
                    "p50 us", "p99 us", "CPU us a call", "bytes allocated a call"],
                rows)
            .Save("report --only rpc");
    }

    private static void Add(
        int records,
        IReadOnlyList<TransportResult> results,
        Func<TransportResult, string> titleOf,
        List<ChartBar> bars,
        List<string[]> rows)
    {
        TransportResult? bound = results.FirstOrDefault(result => result.Kind == CallKind.Bound);
        foreach (TransportResult result in results)
        {
            bars.Add(ChartBar.Of(titleOf(result), [.. result.Rounds.Select(round => round.CallsPerSecond)]));
            rows.Add(
            [
                records.ToString(CultureInfo.InvariantCulture),
                titleOf(result),
                ResultTable.Rate(result.CallsPerSecond),
                bound is null ? "" : result.RatioTo(bound).ToString("P0", CultureInfo.InvariantCulture),
                $"{ResultTable.Rate(result.WorstCaller)}, {ResultTable.Rate(result.AverageCaller)}, "
                    + ResultTable.Rate(result.BestCaller),
                ResultTable.Rate(result.MedianMicroseconds),
                ResultTable.Rate(result.Percentile99Microseconds),
                (result.ClientCpu + result.ServerCpu).ToString("N1", CultureInfo.InvariantCulture),
                ResultTable.Rate(result.ClientAllocated + result.ServerAllocated),
            ]);
        }
    }

    private static string TitleOf(string kind) => CallKind.SecurityOf(kind) switch
    {
        "" => kind,
        CallSecurity.Self => $"{CallKind.MessagesOf(kind)}, own account",
        CallSecurity.Integrity => $"{CallKind.MessagesOf(kind)}, NTLM, signed",
        _ => $"{CallKind.MessagesOf(kind)}, NTLM, encrypted",
    };
}
