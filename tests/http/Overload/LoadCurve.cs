using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>What came of calls that were made at a rate, whether or not the server kept up.</summary>
/// <param name="Goodput">Calls a second that succeeded.</param>
/// <param name="Accepted">The latencies of calls that succeeded, in order.</param>
/// <param name="Refused">The latencies of calls that were refused, in order.</param>
/// <param name="Pings">The latencies of pings meanwhile, in order: what the machine adds to any
/// call.</param>
/// <param name="Lost">Calls with another end.</param>
internal sealed record LoadCurve(
    double Goodput, IReadOnlyList<double> Accepted, IReadOnlyList<double> Refused,
    IReadOnlyList<double> Pings, int Lost)
{
    /// <summary>As many callers as calls may run at once: what the server can do.</summary>
    public static async Task<double> PeakAsync(IReadOnlyList<RpcClient> clients, int callers, TimeSpan time)
    {
        long start = Stopwatch.GetTimestamp();
        int[] counts = await Task.WhenAll(Enumerable.Range(0, callers).Select(async caller =>
        {
            int count = 0;
            while (Stopwatch.GetElapsedTime(start) < time)
            {
                await BusyServer.CallAsync(clients[caller % clients.Count], "work");
                count++;
            }

            return count;
        }));
        return counts.Sum() / Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    /// <summary>Calls at a rate.</summary>
    public static async Task<LoadCurve> OpenLoopAsync(
        IReadOnlyList<RpcClient> clients, double rate, TimeSpan time)
    {
        List<Task<(RpcStatusCode Status, double Milliseconds)>> calls = [];
        using CancellationTokenSource end = new();
        Task<double[]> pings = PingAsync(clients[0], end.Token);
        long start = Stopwatch.GetTimestamp();
        TimeSpan elapsed;
        while ((elapsed = Stopwatch.GetElapsedTime(start)) < time)
        {
            while (calls.Count < elapsed.TotalSeconds * rate)
            {
                calls.Add(CallAsync(clients[calls.Count % clients.Count]));
            }

            await Task.Delay(1);
        }

        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        (RpcStatusCode Status, double Milliseconds)[] ends =
            await Task.WhenAll(calls).WaitAsync(TimeSpan.FromSeconds(60));
        await end.CancelAsync();
        double[] accepted = LatenciesOf(ends, RpcStatusCode.OK);
        double[] refused = LatenciesOf(ends, RpcStatusCode.ResourceExhausted);

        // Those that still ran at the end were begun within the time.
        double drained = Stopwatch.GetElapsedTime(start).TotalSeconds;
        return new(
            accepted.Length / Math.Max(seconds, drained), accepted, refused, await pings,
            ends.Length - accepted.Length - refused.Length);
    }

    /// <summary>The latency that a share of calls did not exceed; 0 without calls.</summary>
    public static double Percentile(IReadOnlyList<double> sorted, double share) =>
        sorted.Count == 0 ? 0 : sorted[(int)Math.Min(sorted.Count - 1, sorted.Count * share)];

    private static double[] LatenciesOf(
        (RpcStatusCode Status, double Milliseconds)[] ends, RpcStatusCode status) =>
        [.. ends.Where(end => end.Status == status).Select(end => end.Milliseconds).Order()];

    private static async Task<double[]> PingAsync(RpcClient client, CancellationToken end)
    {
        List<double> latencies = [];
        do
        {
            long start = Stopwatch.GetTimestamp();
            await client.PingAsync(cancellationToken: CancellationToken.None);
            latencies.Add(Stopwatch.GetElapsedTime(start).TotalMilliseconds);
            await Task.Delay(5, CancellationToken.None);
        }
        while (!end.IsCancellationRequested);
        return [.. latencies.Order()];
    }

    private static async Task<(RpcStatusCode Status, double Milliseconds)> CallAsync(RpcClient client)
    {
        long start = Stopwatch.GetTimestamp();
        RpcStatusCode status = await BusyServer.StatusAsync(BusyServer.CallAsync(client, "work"));
        return (status, Stopwatch.GetElapsedTime(start).TotalMilliseconds);
    }
}
