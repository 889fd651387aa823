using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Stubs;

/// <summary>A generated client of ProtoRpc.Grpc and the typed calls of <see cref="RpcClient"/>, in turns at
/// the same server over TCP.</summary>
internal static class StubBenchmark
{
    private const int CountedCalls = 2000;

    public static void Run(BenchmarkOptions options)
    {
        using RpcServer server = RpcServer.Create(new RpcServerOptions())
            .AddGrpcService(new EchoService())
            .AddEndpoint("tcp://127.0.0.1:0")
            .StartListening();
        using RpcClient client = RpcClient.Connect(
            server.Endpoints[0], RpcSchema.FromDescriptors(BenchmarkReflection.Descriptor));
        RpcMethodInfo method = client.GetMethod("Test");
        SampleService.SampleServiceClient stub = new(client.CreateCallInvoker());
        ResultTable table = new(
            "records", "calls", "typed/s", "generated/s", "of typed", "bytes allocated a call", "generated");
        foreach (int records in options.RecordsOr(0, 10))
        {
            SampleRequest request = SampleData.Request(records);
            Measure("blocking", () =>
            {
                client.Invoke<SampleResponse>(method, request);
                return Task.CompletedTask;
            }, () =>
            {
                stub.Test(request);
                return Task.CompletedTask;
            });
            Measure(
                "async",
                () => client.InvokeAsync<SampleResponse>(method, request),
                async () => await stub.TestAsync(request));

            void Measure(string kind, Func<Task> typed, Func<Task> generated)
            {
                Rate(typed, options, options.WarmUp);
                Rate(generated, options, options.WarmUp);
                List<(double Typed, double Generated)> rounds = [];
                for (int i = 0; i < options.Rounds; i++)
                {
                    rounds.Add((
                        Rate(typed, options, options.Round), Rate(generated, options, options.Round)));
                }

                table.Row(
                    records.ToString(CultureInfo.InvariantCulture),
                    kind,
                    ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Typed))),
                    ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Generated))),
                    ResultTable.Median(rounds.Select(round => round.Generated / round.Typed))
                        .ToString("P0", CultureInfo.InvariantCulture),
                    Allocated(typed).ToString("N0", CultureInfo.InvariantCulture),
                    Allocated(generated).ToString("N0", CultureInfo.InvariantCulture));
            }
        }
    }

    private static double Rate(Func<Task> call, BenchmarkOptions options, TimeSpan time)
    {
        long calls = 0;
        long start = Stopwatch.GetTimestamp();
        Task[] callers = [.. Enumerable.Range(0, options.Callers).Select(_ => Task.Run(async () =>
        {
            while (Stopwatch.GetElapsedTime(start) < time)
            {
                await call();
                Interlocked.Increment(ref calls);
            }
        }))];
        Task.WaitAll(callers);
        return calls / Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    // The server's share is in both numbers.
    private static long Allocated(Func<Task> call)
    {
        long before = GC.GetTotalAllocatedBytes(precise: true);
        for (int i = 0; i < CountedCalls; i++)
        {
            call().GetAwaiter().GetResult();
        }

        return (GC.GetTotalAllocatedBytes(precise: true) - before) / CountedCalls;
    }
}
