using System.Diagnostics;
using ProtoRpc.LongRun.Load;
using ProtoRpc.LongRun.Measures;

namespace ProtoRpc.LongRun;

/// <summary>Listeners on all transports that are started, called and stopped, one after the other.</summary>
/// <param name="folder">Where this process has its sockets and temporary files.</param>
internal sealed class StartStop(string folder)
{
    private const int Before = 20;
    private const int Looks = 20;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(50);

    /// <summary>What listeners left; null for nothing.</summary>
    public async Task<string?> RunAsync(int cycles)
    {
        await CycleAsync(Before);
        Leftovers before = await LeastAsync();
        await CycleAsync(cycles);
        return await LeftAsync(before);
    }

    /// <summary>What there is more than before, in words; null for nothing.</summary>
    public async Task<string?> LeftAsync(Leftovers before)
    {
        long start = Stopwatch.GetTimestamp();
        string? left;
        while ((left = Collected().Beyond(before)) is not null && Stopwatch.GetElapsedTime(start) < Patience)
        {
            await Task.Delay(Pause);
        }

        return left is null ? null : $"There are more than before: {left}";
    }

    /// <summary>What there is: kernel and thread pool finish a little later than a listener says, so the
    /// least of a moment counts.</summary>
    public async Task<Leftovers> LeastAsync()
    {
        Leftovers least = Collected();
        for (int i = 0; i < Looks; i++)
        {
            await Task.Delay(Pause);
            Leftovers now = Collected();
            least = now.Beyond(least) is null ? now : least;
        }

        return least;
    }

    private static async Task CycleAsync(int cycles)
    {
        Random random = new(cycles);
        for (int i = 0; i < cycles; i++)
        {
            string[] endpoints = [.. Servers.Schemes.Select(Servers.NewEndpoint)];
            using WordsServer server = new(endpoints[0], null, null, endpoints[1..]);
            RpcEndpoint called = server.Server.Endpoints[i % endpoints.Length];
            using RpcClient client = new Place("cycle", called, new()).Connect();
            await WordCalls.SayAsync(client, random);
        }
    }

    private Leftovers Collected()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        return Leftovers.Now(folder);
    }
}
