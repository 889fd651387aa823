using System.Collections.Concurrent;

namespace ProtoRpc.LongRun.Load;

/// <summary>All that happens at the same time: a caller for each endpoint, and connections, listeners, mocks
/// and gateways that come and go.</summary>
internal sealed class MixedLoad(Servers servers, LongRunOptions options, Tally tally)
{
    // Of this many calls, one is a coming and going.
    private const int CallsOfListener = 40;
    private const int CallsOfConnection = 10;

    private readonly ConcurrentBag<object> _leaked = [];
    private int _seed = options.Seed;
    private int _turns;

    /// <summary>Runs until the token is cancelled. What fails is counted, and the load goes on.</summary>
    public Task RunAsync(CancellationToken stop)
    {
        double perCaller = (double)options.Rate / servers.Places.Count;
        IReadOnlyList<Place> places = servers.Places;
        return Task.WhenAll(
        [
            .. places.Select(place => CallAsync(place, perCaller, stop)),
            .. Enumerable.Repeat(0, 2).Select(_ => RepeatAsync(
                "connections that come and go", (double)options.Rate / CallsOfConnection / 2,
                random => Comings.ConnectAsync(places[random.Next(places.Count)], random), stop)),
            RepeatAsync(
                "listeners that come and go", (double)options.Rate / CallsOfListener, ListenAsync, stop),
            RepeatAsync(
                "mocks that come and go", (double)options.Rate / CallsOfListener, Comings.MockAsync, stop),
            RepeatAsync(
                "gateways that come and go", (double)options.Rate / CallsOfListener,
                random => Comings.ForwardAsync(places[random.Next(places.Count)], random), stop),
        ]);
    }

    // One client for the whole run, with a session.
    private async Task CallAsync(Place place, double perSecond, CancellationToken stop)
    {
        using RpcClient client = place.Connect();
        int counted = 0;
        await RepeatAsync(
            place.Name, perSecond,
            async random =>
            {
                if (random.Next(10) == 0)
                {
                    await WordCalls.CountAsync(client, ++counted);
                    return;
                }

                await WordCalls.AnyAsync(place, client, random);
                if (options.Leak == Leak.Memory)
                {
                    _leaked.Add(new byte[4000]);
                }
            },
            stop);
    }

    private async Task ListenAsync(Random random)
    {
        await Comings.ListenAsync(random);
        if (options.Leak is Leak.None or Leak.Memory || Interlocked.Increment(ref _turns) % 5 != 0)
        {
            return;
        }

        if (options.Leak == Leak.Threads)
        {
            new Thread(() => Thread.Sleep(Timeout.Infinite)) { IsBackground = true }.Start();
        }
        else
        {
            _leaked.Add(new WordsServer("tcp://127.0.0.1:0"));
        }
    }

    // At a steady pace; a turn that takes longer delays the next one.
    private async Task RepeatAsync(
        string what, double perSecond, Func<Random, Task> turn, CancellationToken stop)
    {
        Random random = new(Interlocked.Increment(ref _seed));
        using PeriodicTimer pace = new(TimeSpan.FromSeconds(1 / perSecond));
        while (!stop.IsCancellationRequested)
        {
            try
            {
                await pace.WaitForNextTickAsync(stop).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }

            try
            {
                await Task.Run(() => turn(random), CancellationToken.None);
                tally.Add(what);
            }
#pragma warning disable CA1031 // Each failure is counted, and the run goes on.
            catch (Exception e)
#pragma warning restore CA1031
            {
                tally.Fail(what, e.ToString());
            }
        }
    }
}
