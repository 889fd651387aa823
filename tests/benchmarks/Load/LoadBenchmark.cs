using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Load;

/// <summary>What a load test costs beside the calls that it makes: processor time and memory of a call,
/// against a bare loop of the same client, in turns.</summary>
internal static class LoadBenchmark
{
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(
            "Processor time and allocated bytes of a call on the client: a loop of RpcClient.Invoke, "
            + "and RpcLoadTest");
        ResultTable table = new(
            "transport", "records", "loop us", "test us", "of loop", "paced us", "loop bytes", "test bytes");
        RpcSchema schema = SampleData.LoadSchema();
        foreach (string transport in options.Transports)
        {
            string address = transport switch
            {
                "ncalrpc" => $"ncalrpc:[ProtoRpcLoad{Environment.ProcessId}]",
                "np" => $@"ncacn_np:[\pipe\ProtoRpcLoad{Environment.ProcessId}]",
                _ => "ncacn_ip_tcp:127.0.0.1[0]",
            };
            foreach (int records in options.RecordsOr(0))
            {
                using Worker server = Worker.Server(WorkerRole.Rpc, address, records, default);
                using RpcClient client = RpcClient.Connect(server.Told, schema);
                Measure(client, options, transport, records, table);
            }
        }
    }

    private static void Measure(
        RpcClient client, BenchmarkOptions options, string transport, int records, ResultTable table)
    {
        RpcMethodInfo method = client.GetMethod("Test");
        DynamicMessage request = SampleData.Dynamic(method.RequestType, records);
        RpcLoadTarget target = new(client, method, RpcLoadRequests.Same(method, request));
        RpcLoadOptions test = new() { Concurrency = options.Callers };

        Loop(client, method, request, options.Callers, options.WarmUp);
        Test(target, test with { Duration = options.WarmUp });
        List<Cost> loops = [];
        List<Cost> tests = [];
        List<Cost> paced = [];
        for (int i = 0; i < options.Rounds; i++)
        {
            Cost loop = CostOf(() => Loop(client, method, request, options.Callers, options.Round));
            loops.Add(loop);
            tests.Add(CostOf(() => Test(target, test with { Duration = options.Round })));

            // Half of the calls that the loop made.
            double rate = Math.Min(loop.Calls / options.Round.TotalSeconds / 2, RpcLoadOptions.MaxRate);
            paced.Add(CostOf(() => Test(target, test with { Duration = options.Round, Rate = rate })));
        }

        table.Row(
            transport,
            records.ToString(CultureInfo.InvariantCulture),
            Text(loops, cost => cost.Microseconds),
            Text(tests, cost => cost.Microseconds),
            ResultTable.Median(loops.Zip(tests, (loop, test) => test.Microseconds / loop.Microseconds))
                .ToString("P0", CultureInfo.InvariantCulture),
            Text(paced, cost => cost.Microseconds),
            Text(loops, cost => cost.Bytes),
            Text(tests, cost => cost.Bytes));
    }

    private static long Loop(
        RpcClient client, RpcMethodInfo method, DynamicMessage request, int callers, TimeSpan time)
    {
        long calls = 0;
        long start = Stopwatch.GetTimestamp();
        Thread[] threads = [.. Enumerable.Range(0, callers).Select(_ => new Thread(() =>
        {
            long own = 0;
            for (; Stopwatch.GetElapsedTime(start) < time; own++)
            {
                client.Invoke(method, request);
            }

            Interlocked.Add(ref calls, own);
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        return calls;
    }

    private static long Test(RpcLoadTarget target, RpcLoadOptions options)
    {
        RpcLoadResult result = new RpcLoadTest([target], options).RunAsync().GetAwaiter().GetResult()[0];
        return result.Failed == 0
            ? result.Calls
            : throw new InvalidOperationException(result.ToText());
    }

    private static Cost CostOf(Func<long> run)
    {
        TimeSpan before = Environment.CpuUsage.TotalTime;
        long allocated = GC.GetTotalAllocatedBytes();
        long calls = run();
        return new Cost(
            calls,
            (Environment.CpuUsage.TotalTime - before).TotalMicroseconds / calls,
            (GC.GetTotalAllocatedBytes() - allocated) / (double)calls);
    }

    private static string Text(IEnumerable<Cost> costs, Func<Cost, double> value) =>
        ResultTable.Median(costs.Select(value)).ToString("0.#", CultureInfo.InvariantCulture);

    private readonly record struct Cost(long Calls, double Microseconds, double Bytes);
}
