using System.Globalization;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Gateway;

/// <summary>Calls through a gateway against direct ones and against calls through a relay of bytes, in turns:
/// server, gateway, relay and callers are processes of their own, on the same transport.</summary>
internal static class GatewayBenchmark
{
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Direct calls, calls through a gateway, and through a relay that passes bytes on; 1 caller and "
            + $"{options.Clients} processes x {options.Callers} callers, "
            + $"{options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians. "
            + $"CPU is what the process between callers and server used for a call."));
        ResultTable table = new(
            "transport", "records", "callers", "direct calls/s", "gateway", "relay",
            "gateway/direct", "lowest..highest", "relay/direct", "gateway/relay", "CPU us", "relay's");
        foreach (string transport in options.Transports)
        {
            foreach (int records in options.RecordsOr(0))
            {
                Measure(options, transport, records, clients: 1, callers: 1, table);
                Measure(options, transport, records, options.Clients, options.Callers, table);
            }
        }
    }

    /// <summary>Passes calls on to a server of <see cref="RpcCaller"/>.</summary>
    public static RpcServer Serve(string target, string endpoint) => RpcGateway
        .Create(
            RpcClient.Connect(target, SampleData.LoadSchema()),
            serverOptions: new RpcServerOptions().WithHttp())
        .AddEndpoint(endpoint)
        .StartListening();

    private static void Measure(
        BenchmarkOptions options, string transport, int records, int clients, int callers, ResultTable table)
    {
        using Worker server = Worker.Server(WorkerRole.Rpc, AddressOf(transport, "S"), records, default);
        using Worker gateway = Worker.Server(
            $"{WorkerRole.Gateway}{server.Told}", AddressOf(transport, "G"), records, default);
        using Worker relay = Worker.Server(
            $"{WorkerRole.Relay}{server.Told}", AddressOf(transport, "R"), records, default);
        using Way direct = new(server, records, clients, callers);
        using Way through = new(gateway, records, clients, callers);
        using Way relayed = new(relay, records, clients, callers);
        Way[] ways = [direct, through, relayed];
        Array.ForEach(ways, way => way.WarmUp(options.WarmUp));
        for (int i = 0; i < options.Rounds; i++)
        {
            Array.ForEach(ways, way => way.Call(options.Round));
        }

        double[] ratios = through.RatiosTo(direct);
        table.Row(
            transport,
            records.ToString(CultureInfo.InvariantCulture),
            (clients * callers).ToString(CultureInfo.InvariantCulture),
            ResultTable.Rate(direct.Rate),
            ResultTable.Rate(through.Rate),
            ResultTable.Rate(relayed.Rate),
            Percent(ResultTable.Median(ratios)),
            $"{Percent(ratios.Min())}..{Percent(ratios.Max())}",
            Percent(ResultTable.Median(relayed.RatiosTo(direct))),
            Percent(ResultTable.Median(through.RatiosTo(relayed))),
            Microseconds(through.Cpu),
            Microseconds(relayed.Cpu));
    }

    private static string AddressOf(string transport, string which)
    {
        string name = $"ProtoRpcBench{which}{Environment.ProcessId}";
        return transport switch
        {
            "ncalrpc" => $"ncalrpc:[{name}]",
            "np" => $@"ncacn_np:[\pipe\{name}]",
            _ => "ncacn_ip_tcp:127.0.0.1[0]",
        };
    }

    private static string Percent(double ratio) =>
        (ratio * 100).ToString("0", CultureInfo.InvariantCulture) + " %";

    private static string Microseconds(double value) =>
        value.ToString("0.0", CultureInfo.InvariantCulture);
}
