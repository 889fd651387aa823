using System.Globalization;
using ProtoRpc.Fuzz;

namespace ProtoRpc.Http.Tests.Overload;

/// <summary>Load at one and a half times of what a server can do. With PROTORPC_RECORD=1 the figures are
/// written into docs/reliability.md.</summary>
[Collection("Measurements")]
public static class GoodputTests
{
    private const int Running = 8;
    private const int Waiting = 16;
    private static readonly TimeSpan Work = TimeSpan.FromMilliseconds(40);

    // On a machine with nothing else to do; on a busy one it is more.
    private static readonly double Rate = 1.5 * Running / Work.TotalSeconds;
    private static readonly SortedDictionary<int, string> Rows = [];

    public static TheoryData<string> Protocols => [.. BusyServer.AllFaces];

    [Theory]
    [MemberData(nameof(Protocols))]
    public static async Task Half_as_much_again_as_a_server_can_do_leaves_it_what_it_can_do(string protocol)
    {
        RpcLimits limits = new() { MaxConcurrentCalls = Running, MaxQueuedCalls = Waiting };
        string complaint = "";
        for (int attempt = 0; attempt < 3; attempt++)
        {
            using BusyServer server = new(protocol, limits, Work);
            RpcClient[] clients = [.. Enumerable.Range(0, 4).Select(_ => server.Connect())];
            try
            {
                await LoadCurve.PeakAsync(clients, Running, TimeSpan.FromSeconds(0.3));
                double peak = await LoadCurve.PeakAsync(clients, Running, TimeSpan.FromSeconds(0.8));
                LoadCurve over = await LoadCurve.OpenLoopAsync(clients, Rate, TimeSpan.FromSeconds(1.5));
                double after = await LoadCurve.PeakAsync(clients, Running, TimeSpan.FromSeconds(0.8));

                Assert.Equal(0, over.Lost);
                Assert.Equal(Running, server.MostRunning);
                complaint = Judge(peak, over, after);
                if (complaint.Length == 0)
                {
                    Record(protocol, peak, over, after);
                    return;
                }
            }
            finally
            {
                Array.ForEach(clients, client => client.Dispose());
            }
        }

        // Three times on end, for other work of the machine takes its part.
        Assert.Fail(complaint);
    }

    // What is accepted has its turn after all that waits and what runs have ended. A ping takes the time that
    // the machine adds to each step of any call, however busy it is.
    private static string Judge(double peak, LoadCurve over, double after)
    {
        double most = Work.TotalMilliseconds * ((Waiting / Running) + 2);
        double accepted = LoadCurve.Percentile(over.Accepted, 0.99);
        double refused = LoadCurve.Percentile(over.Refused, 0.5);
        return over.Refused.Count == 0 ? "Nothing was refused, so there was no overload."
            : over.Goodput < 0.8 * peak ? $"Goodput is {over.Goodput:N0}/s of {peak:N0}/s."
            : refused > 10 + (2 * LoadCurve.Percentile(over.Pings, 0.5)) ? $"A refusal takes {refused:N1} ms."
            : accepted > (2 * most) + (8 * over.Pings[^1]) ? $"Accepted calls take {accepted:N0} ms."
            : after < 0.8 * peak ? $"Afterwards there are {after:N0}/s of {peak:N0}/s."
            : "";
    }

    private static void Record(string protocol, double peak, LoadCurve over, double after)
    {
        if (Environment.GetEnvironmentVariable("PROTORPC_RECORD") != "1")
        {
            return;
        }

        Rows[Array.IndexOf(BusyServer.AllFaces, protocol)] = string.Create(
            CultureInfo.InvariantCulture,
            $"| {protocol} | {peak:N0} | {over.Goodput:N0} | {over.Goodput / peak:P0} "
            + $"| {LoadCurve.Percentile(over.Accepted, 0.5):N0} "
            + $"| {LoadCurve.Percentile(over.Accepted, 0.99):N0} "
            + $"| {over.Refused.Count} | {LoadCurve.Percentile(over.Refused, 0.5):N1} "
            + $"| {LoadCurve.Percentile(over.Refused, 0.99):N1} "
            + $"| {LoadCurve.Percentile(over.Pings, 0.99):N1} | {after:N0} |");
        if (Rows.Count == BusyServer.AllFaces.Length)
        {
            ReliabilityPage.Open().Write("overload", string.Join('\n', [
                "| endpoint | peak, calls/s | under overload | of the peak | accepted, p50 ms | p99 ms "
                    + "| rejected | rejection, p50 ms | p99 ms | ping meanwhile, p99 ms "
                    + "| afterwards, calls/s |",
                "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
                .. Rows.Values,
            ]));
        }
    }
}
