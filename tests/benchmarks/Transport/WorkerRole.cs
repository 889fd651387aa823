using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Benchmarks.Gateway;
using ProtoRpc.Benchmarks.Grpc;
using ProtoRpc.Benchmarks.Guard;
using ProtoRpc.Benchmarks.Http;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Security;
using ProtoRpc.Server;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>What this program does when it was started as a part of a measurement.</summary>
/// <remarks>
/// A server prints <c>ready ADDRESS</c>. A client prints <c>ready</c>, then for every line with a number of
/// milliseconds calls for so long and prints <c>done CALLS MILLISECONDS RATES P50 P99 CPU BYTES</c>. A server
/// prints <c>used CPU BYTES</c> for every line. Both run until their input ends.
/// </remarks>
internal static class WorkerRole
{
    public const string Server = "server";
    public const string Client = "client";
    public const string Raw = CallKind.Raw;
    public const string Rpc = CallKind.Prebuilt;
    public const string Search = "search";
    public const string Numbers = "numbers";
    public const string MinimalApi = "api";
    public const string SearchApi = "search-api";

    /// <summary>The address of clients that serve themselves.</summary>
    public const string InProcess = "inproc://benchmark";

    /// <summary>Before what a server used.</summary>
    public const string Used = "used";

    /// <summary>Before the address of the server that a gateway passes calls on to.</summary>
    public const string Gateway = "gateway=";

    /// <summary>Before the address of the server that a relay passes bytes on to.</summary>
    public const string Relay = "relay=";

    /// <param name="kind">One of <see cref="CallKind"/>, <see cref="Search"/>, <see cref="Numbers"/>,
    /// <see cref="MinimalApi"/>, <see cref="SearchApi"/>, <see cref="Gateway"/> or <see cref="Relay"/> with
    /// an address, one of <see cref="CallSecurity"/> or <see cref="ExperimentRole"/>, or an
    /// <see cref="HttpStack"/>.</param>
    /// <param name="arguments">Address, records, and for raw frames their sizes.</param>
    public static int Serve(string kind, string[] arguments)
    {
        (string address, IDisposable? server) = Start(kind, arguments);
        Console.WriteLine($"ready {address}");
        while (Console.ReadLine() is not null)
        {
            if (kind == ExperimentRole.Idle)
            {
                IdleConnections.Collect();
            }

            Console.WriteLine($"{Used} {ResourceUse.Now()}");
        }

        server?.Dispose();
        return 0;
    }

    /// <param name="kind">One of <see cref="CallKind"/>, <see cref="CallSecurity"/> or
    /// <see cref="ExperimentRole"/>, <see cref="MinimalApi"/> or an <see cref="HttpStack"/>.</param>
    /// <param name="arguments">Address or <see cref="InProcess"/>, records, sizes of raw frames, number of
    /// callers.</param>
    public static int Call(string kind, string[] arguments)
    {
        RpcSchema? schema = !CallKind.IsBare(kind) && !HttpStack.Is(kind) ? SampleData.LoadSchema() : null;
        string address = arguments[0];
        using IDisposable? own = address == InProcess ? Start(kind, arguments).Server : null;
        int records = Number(arguments[1]);
        int count = Number(arguments[4]);
        ICaller[] callers = kind == MinimalApi ? ApiCaller.Connect(address, records, count)
            : HttpStack.Is(kind)
                ? HttpCaller.Connect(new HttpStack(kind), address, records, count)
            : [.. Enumerable.Range(0, count).Select(_ => ExperimentRole.Connect(kind, address, records)
                ?? (kind == Raw ? RawEcho.Connect(address, Size(arguments))
                : kind == CallKind.Bound ? BoundEcho.Connect(address, records)
                : CallKind.IsFresh(kind) ? new FreshCaller(kind, address, schema!, records)
                : new RpcCaller(address, schema!, records, CallSecurity.OfClient(kind))))];

        Console.WriteLine("ready");
        while (Console.ReadLine() is string line)
        {
            Console.WriteLine(CallFor(callers, TimeSpan.FromMilliseconds(Number(line))));
        }

        foreach (ICaller caller in callers)
        {
            caller.Dispose();
        }

        return 0;
    }

    /// <summary>Reads what a client printed after <c>done</c>.</summary>
    public static CallRound ParseDone(string done)
    {
        string[] parts = done.Split(' ');
        long calls = long.Parse(parts[0], CultureInfo.InvariantCulture);
        return new CallRound
        {
            Calls = calls,
            CallsPerSecond = calls * 1000 / Decimals(parts[1]),
            CallerRates = [.. parts[2].Split(',').Select(Decimals)],
            MedianMicroseconds = Decimals(parts[3]),
            Percentile99Microseconds = Decimals(parts[4]),
            Clients = ResourceUse.Parse(parts[5], parts[6]),
        };
    }

    private static (string Address, IDisposable? Server) Start(string kind, string[] arguments)
    {
        string address = arguments[0];
        IDisposable? server = null;
        if (kind == Raw)
        {
            address = RawEcho.Serve(address, Size(arguments));
        }
        else if (kind == CallKind.Bound)
        {
            address = BoundEcho.Serve(address, Number(arguments[1]));
        }
        else if (kind == MinimalApi)
        {
            (address, server) = Benchmarks.Http.MinimalApi.Serve(Number(arguments[1]));
        }
        else if (kind == SearchApi)
        {
            (address, server) = Benchmarks.Http.SearchApi.Serve();
        }
        else if (ExperimentRole.Serve(kind, address) is IRpcServer experiment)
        {
            address = experiment.Endpoints[0].ToString();
            server = experiment;
        }
        else if (kind.StartsWith(Relay, StringComparison.Ordinal))
        {
            ByteRelay relay = ByteRelay.Serve(kind[Relay.Length..], address);
            (address, server) = (relay.Address, relay);
        }
        else
        {
            RpcServer rpc = HttpStack.Is(kind)
                    ? HttpCaller.Serve(new HttpStack(kind), address, Number(arguments[1]))
                : kind == Search ? SearchServer.Serve(address)
                : kind == Numbers ? NumbersServer.Serve(address)
                : kind.StartsWith(Gateway, StringComparison.Ordinal)
                    ? GatewayBenchmark.Serve(kind[Gateway.Length..], address)
                : CallKind.IsFresh(kind)
                    ? FreshCaller.Serve(kind, SampleData.LoadSchema(), address, Number(arguments[1]))
                : RpcCaller.Serve(
                    SampleData.LoadSchema(), address, Number(arguments[1]), CallSecurity.OfServer(kind));
            address = rpc.Endpoints[0].ToString();
            server = rpc;
        }

        return (address, server);
    }

    private static string CallFor(ICaller[] callers, TimeSpan time)
    {
        long calls = 0;
        RpcLatencyHistogram times = new();
        double[] rates = new double[callers.Length];
        ResourceUse before = ResourceUse.Now();
        long start = Stopwatch.GetTimestamp();
        long end = start + (long)(time.TotalSeconds * Stopwatch.Frequency);
        void Ended(int caller, long own, long began, RpcLatencyHistogram ownTimes)
        {
            rates[caller] = own / Stopwatch.GetElapsedTime(began).TotalSeconds;
            lock (times)
            {
                calls += own;
                times.Add(ownTimes);
            }
        }

        if (callers.All(caller => caller is IAsyncCaller))
        {
            Task.WaitAll(callers.Select((caller, i) =>
                Task.Run(() => CallUntilAsync((IAsyncCaller)caller, i, end, Ended))));
        }
        else
        {
            Thread[] threads =
                [.. callers.Select((caller, i) => new Thread(() => CallUntil(caller, i, end, Ended)))];
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
        }

        double milliseconds = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
        string each = string.Join(
            ',', rates.Select(rate => rate.ToString("F1", CultureInfo.InvariantCulture)));
        return string.Create(
            CultureInfo.InvariantCulture,
            $"done {calls} {milliseconds:F3} {each} {times.Percentile(50).TotalMicroseconds:F2} "
            + $"{times.Percentile(99).TotalMicroseconds:F2} {ResourceUse.Now() - before}");
    }

    private static void CallUntil(
        ICaller caller, int number, long end, Action<int, long, long, RpcLatencyHistogram> ended)
    {
        long calls = 0;
        RpcLatencyHistogram times = new();
        long began = Stopwatch.GetTimestamp();
        long now = began;

        // One call at the least, so that a short round on a busy machine has a rate as well.
        do
        {
            caller.Call();
            long next = Stopwatch.GetTimestamp();
            times.RecordTicks(next - now);
            now = next;
            calls++;
        }
        while (now < end);

        ended(number, calls, began, times);
    }

    private static async Task CallUntilAsync(
        IAsyncCaller caller, int number, long end, Action<int, long, long, RpcLatencyHistogram> ended)
    {
        long calls = 0;
        RpcLatencyHistogram times = new();
        long began = Stopwatch.GetTimestamp();
        long now = began;
        do
        {
            await caller.CallAsync().ConfigureAwait(false);
            long next = Stopwatch.GetTimestamp();
            times.RecordTicks(next - now);
            now = next;
            calls++;
        }
        while (now < end);

        ended(number, calls, began, times);
    }

    private static WireSize Size(string[] arguments) => new(Number(arguments[2]), Number(arguments[3]));

    private static double Decimals(string text) => double.Parse(text, CultureInfo.InvariantCulture);

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}
