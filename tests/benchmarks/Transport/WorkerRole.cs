using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Benchmarks.Gateway;
using ProtoRpc.Benchmarks.Grpc;
using ProtoRpc.Benchmarks.Http;
using ProtoRpc.Benchmarks.Security;

namespace ProtoRpc.Benchmarks.Transport;

/// <summary>What this program does when it was started as a part of a measurement.</summary>
/// <remarks>
/// A server prints <c>ready ADDRESS</c>. A client prints <c>ready</c>, then for every line with a number of
/// milliseconds calls for so long and prints <c>done CALLS MILLISECONDS</c>. Both run until their input ends.
/// </remarks>
internal static class WorkerRole
{
    public const string Server = "server";
    public const string Client = "client";
    public const string Raw = "raw";
    public const string Rpc = "rpc";
    public const string Search = "search";
    public const string Numbers = "numbers";
    public const string MinimalApi = "api";

    /// <summary>Before the address of the server that a gateway passes calls on to.</summary>
    public const string Gateway = "gateway=";

    /// <param name="kind"><see cref="Raw"/>, <see cref="Rpc"/>, <see cref="Search"/>, <see cref="Numbers"/>,
    /// <see cref="MinimalApi"/>, <see cref="Gateway"/> with an address, or one of
    /// <see cref="CallSecurity"/>.</param>
    /// <param name="arguments">Address, records, and for raw frames their sizes.</param>
    public static int Serve(string kind, string[] arguments)
    {
        string address = arguments[0];
        IDisposable? server = null;
        if (kind == Raw)
        {
            address = RawEcho.Serve(address, Size(arguments));
        }
        else if (kind == MinimalApi)
        {
            (address, server) = Benchmarks.Http.MinimalApi.Serve(Number(arguments[1]));
        }
        else
        {
            RpcServer rpc = kind == Search ? SearchServer.Serve(address)
                : kind == Numbers ? NumbersServer.Serve(address)
                : kind.StartsWith(Gateway, StringComparison.Ordinal)
                    ? GatewayBenchmark.Serve(kind[Gateway.Length..], address)
                : RpcCaller.Serve(
                    SampleData.LoadSchema(), address, Number(arguments[1]), CallSecurity.OfServer(kind));
            address = rpc.Endpoints[0].ToString();
            server = rpc;
        }

        Console.WriteLine($"ready {address}");
        Console.In.ReadToEnd();
        server?.Dispose();
        return 0;
    }

    /// <param name="kind"><see cref="Raw"/>, <see cref="Rpc"/>, one of <see cref="CallSecurity"/>, or the
    /// media type of HTTP calls.</param>
    /// <param name="arguments">Address, records, sizes of raw frames, number of callers.</param>
    public static int Call(string kind, string[] arguments)
    {
        RpcSchema? schema = kind != Raw ? SampleData.LoadSchema() : null;
        ICaller[] callers = new ICaller[Number(arguments[4])];
        for (int i = 0; i < callers.Length; i++)
        {
            callers[i] = kind == Raw ? RawEcho.Connect(arguments[0], Size(arguments))
                : kind.Contains('/') ? HttpCaller.Connect(arguments[0], kind, Number(arguments[1]))
                : new RpcCaller(arguments[0], schema!, Number(arguments[1]), CallSecurity.OfClient(kind));
        }

        Console.WriteLine("ready");
        while (Console.ReadLine() is string line)
        {
            (long calls, double milliseconds) = CallFor(callers, TimeSpan.FromMilliseconds(Number(line)));
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"done {calls} {milliseconds}"));
        }

        foreach (ICaller caller in callers)
        {
            caller.Dispose();
        }

        return 0;
    }

    private static (long Calls, double Milliseconds) CallFor(ICaller[] callers, TimeSpan time)
    {
        long calls = 0;
        long start = Stopwatch.GetTimestamp();
        long end = start + (long)(time.TotalSeconds * Stopwatch.Frequency);
        Thread[] threads = [.. callers.Select(caller => new Thread(() =>
        {
            long own = 0;
            while (Stopwatch.GetTimestamp() < end)
            {
                caller.Call();
                own++;
            }

            Interlocked.Add(ref calls, own);
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        return (calls, Stopwatch.GetElapsedTime(start).TotalMilliseconds);
    }

    private static WireSize Size(string[] arguments) => new(Number(arguments[2]), Number(arguments[3]));

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}
