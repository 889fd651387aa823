using System.Globalization;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>The native core against bare sockets, in turns.</summary>
internal static class TransportBenchmark
{
    /// <summary>Measures and prints a table.</summary>
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Native core and bare sockets, {options.Clients} processes x {options.Callers} blocking "
            + $"callers, {options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians"));
        Console.WriteLine("by CPU: processor time of a call of the bound, in percent of that of the stack");
        ResultTable table = new(
            "transport", "records", "stack", "calls/s", "of raw", "of bound", "by CPU",
            "caller worst/avg/best", "p50/p99 us", "CPU us c+s", "bytes c+s");
        foreach (string transport in options.Transports)
        {
            foreach (int records in options.RecordsOr(0))
            {
                IReadOnlyList<TransportResult> results = Measure(transport, records, options);
                TransportResult? raw = results.FirstOrDefault(result => result.Kind == CallKind.Raw);
                TransportResult? bound = results.FirstOrDefault(result => result.Kind == CallKind.Bound);
                foreach (TransportResult result in results)
                {
                    Print(table, result, raw, bound);
                }
            }
        }
    }

    /// <summary>Measures all stacks of the options over one transport with one size of messages.</summary>
    public static IReadOnlyList<TransportResult> Measure(
        string transport, int records, BenchmarkOptions options)
    {
        WireSize size = options.Kinds.Contains(CallKind.Raw)
            ? WireSize.Measure(SampleData.LoadSchema(), records)
            : default;
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-bench-");
        try
        {
            return StackTurns.Measure(
                transport,
                records,
                [
                    .. options.Kinds.Select<string, Func<WorkerStack>>(kind => () => WorkerStack.Start(
                        kind,
                        WorkerStack.AddressOf(kind, transport, folder.FullName),
                        records,
                        size,
                        options)),
                ],
                options);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    /// <summary>Measures a listener that somebody else started.</summary>
    public static void Call(string endpoint, BenchmarkOptions options)
    {
        List<Worker> clients = [];
        try
        {
            for (int i = 0; i < options.Clients; i++)
            {
                clients.Add(Worker.Client(
                    WorkerRole.Rpc, endpoint, options.RecordsOr(0)[0], default, options.Callers));
            }

            Worker.Call(clients, options.WarmUp);
            double[] rates = [.. Enumerable.Range(0, options.Rounds)
                .Select(_ => Worker.Call(clients, options.Round))];
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture, $"calls/s {ResultTable.Median(rates):F0}"));
        }
        finally
        {
            clients.ForEach(client => client.Dispose());
        }
    }

    private static void Print(
        ResultTable table, TransportResult result, TransportResult? raw, TransportResult? bound) => table.Row(
        result.Transport,
        result.Records.ToString(CultureInfo.InvariantCulture),
        result.Kind,
        ResultTable.Rate(result.CallsPerSecond),
        raw is null ? "" : Percent(result.RatioTo(raw)),
        bound is null ? "" : Percent(result.RatioTo(bound)),
        bound is null ? "" : Percent(result.CpuRatioTo(bound)),
        $"{ResultTable.Rate(result.WorstCaller)}/{ResultTable.Rate(result.AverageCaller)}"
            + $"/{ResultTable.Rate(result.BestCaller)}",
        string.Create(
            CultureInfo.InvariantCulture,
            $"{result.MedianMicroseconds:F0}/{result.Percentile99Microseconds:F0}"),
        string.Create(CultureInfo.InvariantCulture, $"{result.ClientCpu:F1}+{result.ServerCpu:F1}"),
        $"{ResultTable.Rate(result.ClientAllocated)}+{ResultTable.Rate(result.ServerAllocated)}");

    private static string Percent(double ratio) =>
        (ratio * 100).ToString("0", CultureInfo.InvariantCulture) + " %";
}
