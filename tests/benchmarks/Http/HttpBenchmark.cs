using System.Globalization;
using ProtoRpc.Benchmarks.Peers;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>Our HTTP and gRPC endpoints and clients, with generated and dynamic messages, against a minimal
/// API of ASP.NET Core with HttpClient and System.Text.Json. Every message is new, on both sides.</summary>
internal static class HttpBenchmark
{
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"HTTP, {options.Clients} processes x {options.Callers} callers, "
            + $"{options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians of a call"));
        ResultTable table = new(
            "records", "stack                   ", "calls/s", "of API", "client CPU us", "server CPU us",
            "client bytes", "server bytes");
        foreach (int records in options.RecordsOr(0))
        {
            IReadOnlyList<TransportResult> results = Measure(records, options);
            foreach (TransportResult result in results)
            {
                table.Row(
                    records.ToString(CultureInfo.InvariantCulture),
                    TitleOf(result),
                    ResultTable.Rate(result.CallsPerSecond),
                    result.RatioTo(results[0]).ToString("P0", CultureInfo.InvariantCulture),
                    result.ClientCpu.ToString("F1", CultureInfo.InvariantCulture),
                    result.ServerCpu.ToString("F1", CultureInfo.InvariantCulture),
                    ResultTable.Rate(result.ClientAllocated),
                    ResultTable.Rate(result.ServerAllocated));
            }
        }
    }

    /// <summary>Measures the minimal API, which comes first, and the stacks of the options.</summary>
    /// <param name="records">In each message.</param>
    /// <param name="options">How long, and which stacks.</param>
    /// <param name="peers">What is measured in turns with them.</param>
    public static IReadOnlyList<TransportResult> Measure(
        int records, BenchmarkOptions options, params IReadOnlyList<PeerStack> peers)
    {
        IEnumerable<HttpStack> stacks =
            HttpStack.All.Where(stack => options.Stacks.Any(stack.IsNamedBy));
        return StackTurns.Measure(
            "http",
            records,
            [
                () => WorkerStack.Start(WorkerRole.MinimalApi, "", records, default, options),
                .. stacks.Select<HttpStack, Func<WorkerStack>>(
                    stack => () => WorkerStack.Start(stack.Kind, stack.Address, records, default, options)),
                .. peers.Select<PeerStack, Func<WorkerStack>>(
                    peer => () => WorkerStack.Start(peer, records, options)),
            ],
            options);
    }

    /// <summary>How tables name a stack.</summary>
    public static string TitleOf(TransportResult result) => HttpStack.Is(result.Kind)
        ? new HttpStack(result.Kind).Title
        : result.Kind == WorkerRole.MinimalApi ? "minimal API, JSON" : result.Kind;
}
