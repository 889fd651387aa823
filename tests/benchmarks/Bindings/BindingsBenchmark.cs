using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Bindings;

/// <summary>One service over every kind of endpoint, with and without security, one caller.</summary>
internal static class BindingsBenchmark
{
    private const int ToldSeconds = 10;

    public static void Write(string folder, BenchmarkOptions options)
    {
        BenchmarkOptions alone = options with { Clients = 1, Callers = 1 };
        (BindingKind Kind, double[] Rates)[] results =
            [.. BindingKind.All.Select(kind => (kind, Measure(kind, alone)))];
        ChartBar[] bars =
        [
            .. results.OrderByDescending(result => result.Rates.Average()).Select(result => ChartBar.Of(
                result.Kind.Title, [.. result.Rates.Select(rate => rate * ToldSeconds)])),
        ];
        new ReportPage(folder, "bindings", "Kinds of endpoints: calls in 10 seconds")
            .Paragraph(
                """
                One caller calls one service with an empty message over every kind of endpoint, with security
                on and off. Client and server are processes of their own, except over `inproc`.
                This is the experiment that compared the bindings of WCF.
                """)
            .Paragraph(alone.Describe())
            .Chart("One caller, empty message", $"calls in {ToldSeconds} s", [new("", bars)])
            .Table(
                ["endpoint", "security", $"calls in {ToldSeconds} s", "microseconds a call"],
                results.Select(result => Row(result.Kind, result.Rates.Average())))
            .Save(options.CommandOf("bindings"));
    }

    private static string[] Row(BindingKind kind, double rate) =>
    [
        kind.Title,
        kind.IsSecure ? "on" : "off",
        ResultTable.Rate(rate * ToldSeconds),
        ResultTable.Rate(1e6 / rate),
    ];

    private static double[] Measure(BindingKind kind, BenchmarkOptions options)
    {
        string role = ExperimentRole.Binding + kind.Title;
        IReadOnlyList<TransportResult> results = StackTurns.Measure(
            kind.Title,
            0,
            [
                () => kind.IsInProcess
                    ? WorkerStack.StartInProcess(role, 0, options)
                    : WorkerStack.Start(role, "", 0, default, options),
            ],
            options);
        return [.. results[0].Rounds.Select(round => round.CallsPerSecond)];
    }
}
