using System.Globalization;
using ProtoRpc.Benchmarks.Messages;

namespace ProtoRpc.Benchmarks.Stubs;

/// <summary>A generated client of ProtoRpc.Grpc and the typed calls of <see cref="RpcClient"/>, in turns at
/// the same server over TCP.</summary>
internal static class StubBenchmark
{
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
                CallMeter.Rate(typed, options.Callers, options.WarmUp);
                CallMeter.Rate(generated, options.Callers, options.WarmUp);
                List<(double Typed, double Generated)> rounds = [];
                for (int i = 0; i < options.Rounds; i++)
                {
                    rounds.Add((
                        CallMeter.Rate(typed, options.Callers, options.Round),
                        CallMeter.Rate(generated, options.Callers, options.Round)));
                }

                table.Row(
                    records.ToString(CultureInfo.InvariantCulture),
                    kind,
                    ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Typed))),
                    ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Generated))),
                    ResultTable.Median(rounds.Select(round => round.Generated / round.Typed))
                        .ToString("P0", CultureInfo.InvariantCulture),
                    CallMeter.Allocated(typed).ToString("N0", CultureInfo.InvariantCulture),
                    CallMeter.Allocated(generated).ToString("N0", CultureInfo.InvariantCulture));
            }
        }
    }
}
