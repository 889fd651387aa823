using System.Globalization;
using ProtoRpc.Benchmarks.Http;
using ProtoRpc.Benchmarks.Peers;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Security;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Rpc;

/// <summary>The RPC benchmark: one server process, several client processes with several threads each, over
/// every transport, with messages made for each call on both sides.</summary>
internal static class RpcBenchmark
{
    private static readonly int[] Sizes = [0, 10, 100, 1000];

    private static readonly string[] InProcess =
        [CallKind.Generated, CallKind.Dynamic, CallKind.Hashtable];

    private static readonly (string Name, string Title, string[] Kinds)[] Transports =
    [
        ("ncalrpc", "local",
        [
            CallKind.Raw, CallKind.Bound, CallKind.Generated, CallKind.Dynamic, CallKind.Hashtable,
            CallKind.As(CallKind.Generated, CallSecurity.Self),
            .. Impersonating(),
        ]),
        ("np", "named pipe",
        [
            CallKind.Generated, CallKind.As(CallKind.Generated, CallSecurity.Self), .. Impersonating(),
        ]),
        ("tcp", "TCP",
        [
            CallKind.Raw, CallKind.Bound, CallKind.Generated, CallKind.Dynamic, CallKind.Hashtable,
            CallKind.As(CallKind.Generated, CallSecurity.Integrity),
            CallKind.As(CallKind.Generated, CallSecurity.Privacy),
        ]),
    ];

    public static void Write(string folder, BenchmarkOptions options)
    {
        using PeerSet peers = PeerSet.Prepare(options);
        List<ChartPanel> panels = [];
        List<string[]> rows = [];
        foreach (int records in options.RecordsOr(Sizes))
        {
            List<ChartBar> bars = [];
            foreach ((string name, string title, string[] kinds) in Transports)
            {
                if (options.Transports.Contains(name))
                {
                    IReadOnlyList<TransportResult> results = TransportBenchmark.Measure(
                        name, records, options with { Kinds = Wanted(kinds, options) });
                    Add(records, results, result => $"{title}, {TitleOf(result.Kind)}", bars, rows);
                }
            }

            Add(
                records, MeasureInProcess(records, options),
                result => $"in process, {TitleOf(result.Kind)}", bars, rows);
            Add(
                records, HttpBenchmark.Measure(records, options, peers.Stacks), HttpBenchmark.TitleOf, bars,
                rows);
            panels.Add(new($"{records} records", bars));
        }

        ReportPage page = new ReportPage(folder, "rpc", "The RPC benchmark")
            .Paragraph(
                """
                Each request and each reply has as many records as the first column says, of 32 random bytes,
                their base64, an integer, a double and a time. It is made new for its call on both sides.
                """)
            .Paragraph(options.Describe())
            .Paragraph(
                """
                A bar is the average of the rounds; its line goes from the worst round to the best one.
                **raw** is a bare socket that carries as many bytes. **bound** is a bare socket with generated
                code that makes, encodes and decodes the messages: what an ideal RPC costs. The ratio to the
                bound is the median of the ratios of the rounds. **in process** has all callers and the
                server in one process. The minimal API is ASP.NET Core with HttpClient and System.Text.Json.
                A `-` stands for what a program does not report.
                """);
        foreach (string absent in peers.Absent)
        {
            page.Paragraph(absent);
        }

        if (!OperatingSystem.IsWindows())
        {
            page.Paragraph(
                "No handler impersonated its callers: only Windows lets a thread act as another user.");
        }

        page.Chart("Calls of all callers", "calls/s", panels)
            .Table(
                ["records", "stack", "calls/s", "of the bound", "a caller: worst, average, best",
                    "p50 us", "p99 us", "CPU us a call", "bytes allocated a call"],
                rows)
            .Save(options.CommandOf("rpc"));
    }

    private static string[] Impersonating() => OperatingSystem.IsWindows()
        ? [CallKind.As(CallKind.Generated, CallSecurity.Impersonated)]
        : [];

    private static string[] Wanted(string[] kinds, BenchmarkOptions options) =>
        [.. kinds.Where(kind => options.Kinds.Contains(CallKind.MessagesOf(kind)))];

    private static IReadOnlyList<TransportResult> MeasureInProcess(int records, BenchmarkOptions options) =>
        StackTurns.Measure(
            "inproc",
            records,
            [
                .. Wanted(InProcess, options).Select<string, Func<WorkerStack>>(
                    kind => () => WorkerStack.StartInProcess(kind, records, options)),
            ],
            options);

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
                result.Allocated is double allocated ? ResultTable.Rate(allocated) : "-",
            ]);
        }
    }

    private static string TitleOf(string kind) => CallKind.SecurityOf(kind) switch
    {
        "" => kind,
        CallSecurity.Self => $"{CallKind.MessagesOf(kind)}, own account",
        CallSecurity.Impersonated => $"{CallKind.MessagesOf(kind)}, own account, impersonated",
        CallSecurity.Integrity => $"{CallKind.MessagesOf(kind)}, NTLM, signed",
        _ => $"{CallKind.MessagesOf(kind)}, NTLM, encrypted",
    };
}
