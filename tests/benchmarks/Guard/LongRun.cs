using System.Globalization;
using ProtoRpc.Benchmarks.Http;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Guard;

/// <summary>Makes millions of calls and watches the memory of server and clients.</summary>
internal static class LongRun
{
    private const double Mebibyte = 1 << 20;
    private const double MostGrowth = 16;

    // The memory of a .NET process settles while its code is compiled again and its caches fill.
    private const double WarmShare = 0.2;

    private static readonly TimeSpan Round = TimeSpan.FromSeconds(2);

    /// <summary>Makes calls and prints the memory as it goes.</summary>
    /// <param name="what">How results name the stack.</param>
    /// <param name="kind">The stack.</param>
    /// <param name="address">Where its server listens.</param>
    /// <param name="calls">How many calls.</param>
    /// <returns>What memory the server, and the client that grew the most, took on after the first fifth of
    /// the calls.</returns>
    public static IReadOnlyList<GuardFigure> Measure(string what, string kind, string address, long calls)
    {
        using WorkerStack stack = WorkerStack.Start(
            kind, address, 0, default, new BenchmarkOptions { Clients = 2, Callers = 3 });
        ResultTable table = new(what.PadRight(28), "calls", "server MiB", "clients MiB");
        List<(long Calls, double[] Memory)> seen = [];
        long made = 0;
        long next = 0;
        while (made < calls)
        {
            made += stack.Call(Round).Calls;
            if (made < next && made < calls)
            {
                continue;
            }

            next = made + (calls / 20);
            double[] memory = [.. stack.Workers.Select(worker => worker.WorkingSet / Mebibyte)];
            seen.Add((made, memory));
            table.Row(
                "", made.ToString("N0", CultureInfo.InvariantCulture), ResultTable.Rate(memory[0]),
                string.Join(", ", memory[1..].Select(ResultTable.Rate)));
        }

        double[] warm = seen.First(look => look.Calls >= WarmShare * calls).Memory;
        double[] growth = [.. seen[^1].Memory.Zip(warm, (end, begin) => end - begin)];
        return
        [
            new($"{what}, growth of the server", growth[0], MostGrowth, "MiB"),
            new($"{what}, growth of a client", growth[1..].Max(), MostGrowth, "MiB"),
        ];
    }

    /// <summary>The kinds and addresses of the stacks, with the calls that each makes.</summary>
    public static IEnumerable<(string What, string Kind, string Address, long Calls)> Stacks =>
    [
        (
            "local, 10 million calls", CallKind.Dynamic,
            WorkerStack.AddressOf(CallKind.Dynamic, "ncalrpc", Path.GetTempPath()), 10_000_000
        ),
        Of("HTTP, 2 million calls", $"{HttpStack.Prefix}binary:{CallKind.Dynamic}:async"),
        Of("gRPC, 2 million calls", $"{HttpStack.Prefix}grpc:{CallKind.Dynamic}:async"),
    ];

    private static (string What, string Kind, string Address, long Calls) Of(string what, string kind) =>
        (what, kind, new HttpStack(kind).Address, 2_000_000);
}
