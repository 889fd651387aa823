using System.Globalization;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>The native core against bare sockets that carry as many bytes, in turns.</summary>
internal static class TransportBenchmark
{
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Native core and raw echo, {options.Clients} processes x {options.Callers} blocking callers, "
            + $"{options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians"));
        ResultTable table = new(
            "transport", "records", "bytes out/in", "raw calls/s", "ours calls/s", "ratio",
            "lowest..highest", "goal");
        RpcSchema schema = SampleData.LoadSchema();
        foreach (string transport in options.Transports)
        {
            foreach (int records in options.Records)
            {
                Measure(schema, options, transport, records, table);
            }
        }
    }

    /// <summary>Measures a listener that somebody else started.</summary>
    public static void Call(string endpoint, BenchmarkOptions options)
    {
        List<Worker> clients = [];
        try
        {
            Start(clients, options.Clients, () =>
                Worker.Client(WorkerRole.Rpc, endpoint, options.Records[0], default, options.Callers));
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

    private static void Measure(
        RpcSchema schema, BenchmarkOptions options, string transport, int records, ResultTable table)
    {
        WireSize size = WireSize.Measure(schema, records);
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-bench-");
        List<Worker> rawClients = [];
        List<Worker> ourClients = [];
        (string rawAddress, string ourAddress) = transport switch
        {
            "ncalrpc" =>
                (Path.Combine(folder.FullName, "raw"), $"ncalrpc:[ProtoRpcBench{Environment.ProcessId}]"),
            "np" =>
                (Path.Combine(
                    folder.FullName, "raw"), $@"ncacn_np:[\pipe\ProtoRpcBench{Environment.ProcessId}]"),
            _ => ("127.0.0.1:0", "ncacn_ip_tcp:127.0.0.1[0]"),
        };

        try
        {
            using Worker rawServer = Worker.Server(WorkerRole.Raw, rawAddress, records, size);
            using Worker ourServer = Worker.Server(WorkerRole.Rpc, ourAddress, records, size);
            Start(rawClients, options.Clients, () =>
                Worker.Client(WorkerRole.Raw, rawServer.Told, records, size, options.Callers));
            Start(ourClients, options.Clients, () =>
                Worker.Client(WorkerRole.Rpc, ourServer.Told, records, size, options.Callers));

            Worker.Call(rawClients, options.WarmUp);
            Worker.Call(ourClients, options.WarmUp);
            List<(double Raw, double Ours)> rounds = [];
            for (int i = 0; i < options.Rounds; i++)
            {
                rounds.Add((Worker.Call(rawClients, options.Round), Worker.Call(ourClients, options.Round)));
            }

            double[] ratios = [.. rounds.Select(round => round.Ours / round.Raw)];
            table.Row(
                transport,
                records.ToString(CultureInfo.InvariantCulture),
                $"{size.Request}/{size.Reply}",
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Raw))),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Ours))),
                Percent(ResultTable.Median(ratios)),
                $"{Percent(ratios.Min())}..{Percent(ratios.Max())}",
                records == 0 ? ">= 50 %" : "");
        }
        finally
        {
            rawClients.ForEach(client => client.Dispose());
            ourClients.ForEach(client => client.Dispose());
            folder.Delete(recursive: true);
        }
    }

    private static void Start(List<Worker> clients, int count, Func<Worker> start)
    {
        for (int i = 0; i < count; i++)
        {
            clients.Add(start());
        }
    }

    private static string Percent(double ratio) =>
        (ratio * 100).ToString("0", CultureInfo.InvariantCulture) + " %";
}
