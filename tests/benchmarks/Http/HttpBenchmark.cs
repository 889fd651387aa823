using System.Globalization;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>Calls over HTTP in JSON and binary, against a minimal API
/// of ASP.NET Core with System.Text.Json.</summary>
internal static class HttpBenchmark
{
    private const string Json = "application/json";
    private const string Binary = "application/x-protobuf";

    private static readonly WireSize NoFrames = new(0, 0);

    public static void Run(BenchmarkOptions options)
    {
        ResultTable table = new(
            "records", "API, JSON", "ours, JSON", "ours, binary", "JSON/API", "binary/API", "goal");
        foreach (int records in options.Records)
        {
            Measure(options, records, table);
        }
    }

    private static void Measure(BenchmarkOptions options, int records, ResultTable table)
    {
        using Worker api = Worker.Server(WorkerRole.MinimalApi, "", records, NoFrames);
        using Worker ours = Worker.Server(WorkerRole.Rpc, "http://127.0.0.1:0/", records, NoFrames);
        string method = $"{ours.Told}Benchmark.SampleService/Test";
        (string Address, string MediaType)[] stacks = [(api.Told, Json), (method, Json), (method, Binary)];
        List<Worker>[] clients = [.. stacks.Select(_ => new List<Worker>())];
        try
        {
            for (int i = 0; i < stacks.Length; i++)
            {
                for (int client = 0; client < options.Clients; client++)
                {
                    clients[i].Add(Worker.Client(
                        stacks[i].MediaType, stacks[i].Address, records, NoFrames, options.Callers));
                }

                Worker.Call(clients[i], options.WarmUp);
            }

            // One after the other, so that what else the machine does meets all.
            List<double[]> rounds = [];
            for (int i = 0; i < options.Rounds; i++)
            {
                rounds.Add([.. clients.Select(stack => Worker.Call(stack, options.Round))]);
            }

            table.Row(
                records.ToString(CultureInfo.InvariantCulture),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round[0]))),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round[1]))),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round[2]))),
                Percent(ResultTable.Median(rounds.Select(round => round[1] / round[0]))),
                Percent(ResultTable.Median(rounds.Select(round => round[2] / round[0]))),
                records == 100 ? ">= 80 %, >= 100 %" : ">= 80 %");
        }
        finally
        {
            Array.ForEach(clients, stack => stack.ForEach(client => client.Dispose()));
        }
    }

    private static string Percent(double ratio) =>
        (ratio * 100).ToString("0", CultureInfo.InvariantCulture) + " %";
}
