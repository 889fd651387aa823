using System.Globalization;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Security;

/// <summary>What authentication costs: callers who prove who they are against
/// anonymous ones, in turns.</summary>
internal static class SecurityBenchmark
{
    private static readonly Comparison[] Comparisons =
    [
        // The same twice: what a ratio is worth in this run.
        new("ncalrpc None", WorkerRole.Rpc, "ncalrpc:[ProtoRpcBench{0}]", 0, "100 %"),
        new("ncalrpc Self", CallSecurity.Self, "ncalrpc:[ProtoRpcBench{0}]", 0, ">= 97 %"),
        new("ncalrpc Self", CallSecurity.Self, "ncalrpc:[ProtoRpcBench{0}]", 10, ">= 97 %"),
        new("tcp NTLM Integrity", CallSecurity.Integrity, "ncacn_ip_tcp:127.0.0.1[0]", 10, ">= 50 %"),
        new("tcp NTLM Privacy", CallSecurity.Privacy, "ncacn_ip_tcp:127.0.0.1[0]", 10, ""),
    ];

    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Authenticated and anonymous callers, "
            + $"{options.Clients} processes x {options.Callers} blocking callers, "
            + $"{options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians"));
        ResultTable table = new(
            "transport and level", "records", "anonymous calls/s", "proved calls/s", "ratio",
            "lowest..highest", "goal");
        foreach (Comparison comparison in Comparisons)
        {
            Measure(comparison, options, table);
        }

        HandshakeCount count = HandshakeCount.Of(CallSecurity.Privacy, calls: 1000);
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{count.Requests:N0} calls at level Privacy on {count.Connections} connection: "
            + $"{count.Binds} bind, {count.LastTokens} auth3, "
            + $"then nothing but requests; goal: once for each connection"));
    }

    private static void Measure(Comparison comparison, BenchmarkOptions options, ResultTable table)
    {
        List<Worker> anonymous = [];
        List<Worker> proved = [];
        try
        {
            using Worker openServer = Serve(WorkerRole.Rpc, comparison, Environment.ProcessId * 2);
            using Worker server = Serve(comparison.Kind, comparison, (Environment.ProcessId * 2) + 1);
            for (int i = 0; i < options.Clients; i++)
            {
                anonymous.Add(Worker.Client(
                    WorkerRole.Rpc, openServer.Told, comparison.Records, default, options.Callers));
                proved.Add(Worker.Client(
                    comparison.Kind, server.Told, comparison.Records, default, options.Callers));
            }

            Worker.Call(anonymous, options.WarmUp);
            Worker.Call(proved, options.WarmUp);
            List<(double Anonymous, double Proved)> rounds = [];
            for (int i = 0; i < options.Rounds; i++)
            {
                // Each begins every other round: whoever comes second finds another machine.
                double before = i % 2 == 0 ? 0 : Worker.Call(proved, options.Round);
                double open = Worker.Call(anonymous, options.Round);
                rounds.Add((open, i % 2 == 0 ? Worker.Call(proved, options.Round) : before));
            }

            double[] ratios = [.. rounds.Select(round => round.Proved / round.Anonymous)];
            table.Row(
                comparison.Name,
                comparison.Records.ToString(CultureInfo.InvariantCulture),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Anonymous))),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Proved))),
                Percent(ResultTable.Median(ratios)),
                $"{Percent(ratios.Min())}..{Percent(ratios.Max())}",
                comparison.Goal);
        }
        finally
        {
            anonymous.ForEach(client => client.Dispose());
            proved.ForEach(client => client.Dispose());
        }
    }

    private static Worker Serve(string kind, Comparison comparison, int number) => Worker.Server(
        kind,
        string.Format(CultureInfo.InvariantCulture, comparison.Address, number),
        comparison.Records,
        default);

    private static string Percent(double ratio) =>
        (ratio * 100).ToString("0.0", CultureInfo.InvariantCulture) + " %";

    private sealed record Comparison(string Name, string Kind, string Address, int Records, string Goal);
}
