using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Grpc;

/// <summary>Calls over gRPC without TLS against an echo on bare Kestrel, by the same client in the same run;
/// our client against Grpc.Net.Client at the same server; and a million small replies in one
/// stream.</summary>
internal static class GrpcBenchmark
{
    public static void Run(BenchmarkOptions options)
    {
        RpcSchema schema = SampleData.LoadSchema();
        using BareGrpc bare = new();
        using RpcServer server = RpcServer.Create(schema, null, new RpcServerOptions().WithHttp())
            .Handle<SampleRequest, SampleResponse>("Test", (_, request) =>
            {
                SampleResponse reply = new();
                reply.Data.AddRange(request.Data);
                return reply;
            })
            .AddEndpoint("grpc://127.0.0.1:0")
            .StartListening();
        ResultTable table = new("records", "bare Kestrel/s", "ProtoRpc/s", "of bare");
        foreach (int records in options.RecordsOr(0))
        {
            SampleRequest request = SampleData.Request(records);
            using RpcClient ofBare = RpcClient.Connect(bare.Endpoint, schema);
            using RpcClient ofServer = RpcClient.Connect(server.Endpoints[0], schema);
            Rate(ofBare, request, options, options.WarmUp);
            Rate(ofServer, request, options, options.WarmUp);
            List<(double Bare, double Server)> rounds = [];
            for (int i = 0; i < options.Rounds; i++)
            {
                rounds.Add((
                    Rate(ofBare, request, options, options.Round),
                    Rate(ofServer, request, options, options.Round)));
            }

            double bareRate = ResultTable.Median(rounds.Select(r => r.Bare));
            double serverRate = ResultTable.Median(rounds.Select(r => r.Server));
            table.Row(
                records.ToString(CultureInfo.InvariantCulture),
                ResultTable.Rate(bareRate),
                ResultTable.Rate(serverRate),
                (serverRate / bareRate).ToString("P0", CultureInfo.InvariantCulture));
        }

        GrpcClients.Run(server.Endpoints[0], schema, options);
        StreamAsync(options.Rounds).GetAwaiter().GetResult();
    }

    private static double Rate(
        RpcClient client, SampleRequest request, BenchmarkOptions options, TimeSpan time)
    {
        long calls = 0;
        long start = Stopwatch.GetTimestamp();
        RpcMethodInfo method = client.GetMethod("Test");
        Task[] callers = [.. Enumerable.Range(0, options.Callers).Select(_ => Task.Run(async () =>
        {
            while (Stopwatch.GetElapsedTime(start) < time)
            {
                await client.InvokeAsync(method, request);
                Interlocked.Increment(ref calls);
            }
        }))];
        Task.WaitAll(callers);
        return calls / Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    private static async Task StreamAsync(int rounds)
    {
        RpcSchema schema = NumbersServer.LoadSchema();
        using RpcServer server = NumbersServer.Serve("grpc://127.0.0.1:0");
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], schema);
        List<double> rates = [];
        for (int round = 0; round < rounds; round++)
        {
            long start = Stopwatch.GetTimestamp();
            await using RpcStreamingCall call = client.Open(client.GetMethod("Count"));
            await call.SendAsync(new DynamicMessage(call.Method.RequestType));
            await call.CompleteAsync();
            int count = 0;
            while (await call.ReadAsync())
            {
                count++;
            }

            rates.Add(count / Stopwatch.GetElapsedTime(start).TotalSeconds);
        }

        Console.WriteLine(
            $"A stream of {NumbersServer.Count:N0} messages: "
            + $"{ResultTable.Rate(ResultTable.Median(rates))} messages/s, "
            + $"{Environment.WorkingSet / 1024 / 1024:N0} MiB in use.");
    }
}
