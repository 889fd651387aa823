using System.Globalization;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Gateway;

/// <summary>Calls through a gateway against direct ones, in turns: server, gateway and callers are processes
/// of their own, on the same transport.</summary>
internal static class GatewayBenchmark
{
    public static void Run(BenchmarkOptions options)
    {
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"Direct calls and calls through a gateway, 1 caller and {options.Clients} processes x "
            + $"{options.Callers} callers, {options.WarmUp.TotalSeconds} s warm-up each, "
            + $"then {options.Rounds} x {options.Round.TotalSeconds} s in turns, medians"));
        ResultTable table = new(
            "transport", "records", "callers", "direct calls/s", "gateway calls/s", "ratio",
            "lowest..highest");
        foreach (string transport in options.Transports)
        {
            foreach (int records in options.Records)
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
        List<Worker> direct = [];
        List<Worker> through = [];
        try
        {
            using Worker server = Worker.Server(WorkerRole.Rpc, AddressOf(transport, "S"), records, default);
            using Worker gateway = Worker.Server(
                $"{WorkerRole.Gateway}{server.Told}", AddressOf(transport, "G"), records, default);
            for (int i = 0; i < clients; i++)
            {
                direct.Add(Worker.Client(WorkerRole.Rpc, server.Told, records, default, callers));
                through.Add(Worker.Client(WorkerRole.Rpc, gateway.Told, records, default, callers));
            }

            Worker.Call(direct, options.WarmUp);
            Worker.Call(through, options.WarmUp);
            List<(double Direct, double Through)> rounds = [];
            for (int i = 0; i < options.Rounds; i++)
            {
                rounds.Add((Worker.Call(direct, options.Round), Worker.Call(through, options.Round)));
            }

            double[] ratios = [.. rounds.Select(round => round.Through / round.Direct)];
            table.Row(
                transport,
                records.ToString(CultureInfo.InvariantCulture),
                (clients * callers).ToString(CultureInfo.InvariantCulture),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Direct))),
                ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Through))),
                Percent(ResultTable.Median(ratios)),
                $"{Percent(ratios.Min())}..{Percent(ratios.Max())}");
        }
        finally
        {
            direct.ForEach(client => client.Dispose());
            through.ForEach(client => client.Dispose());
        }
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
}
