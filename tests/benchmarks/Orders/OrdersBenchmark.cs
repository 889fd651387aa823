using System.Globalization;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Orders;

/// <summary>Orders over TCP in protobuf and in what .NET writes data contracts in.</summary>
internal static class OrdersBenchmark
{
    private const string Endpoint = "ncacn_ip_tcp:127.0.0.1[0]";

    private static readonly int[] Counts = [10, 100, 1000];

    public static void Write(string folder, BenchmarkOptions options)
    {
        List<ChartPanel> panels = [];
        List<string[]> rows = [];
        foreach (int count in options.RecordsOr(Counts))
        {
            IReadOnlyList<TransportResult> results = StackTurns.Measure(
                "tcp",
                count,
                [
                    .. OrderFormat.All.Select<OrderFormat, Func<WorkerStack>>(
                        format => () => WorkerStack.Start(
                            ExperimentRole.Orders + format.Name, Endpoint, count, default, options)),
                ],
                options);
            panels.Add(new($"{count} orders", [.. results.Zip(OrderFormat.All, (result, format) =>
                ChartBar.Of(format.Title, [.. result.Rounds.Select(round => round.CallsPerSecond)]))]));
            TransportResult binary = results[OrderFormat.All.ToList().FindIndex(f => f.Name == "binary-xml")];
            rows.AddRange(results.Zip(
                OrderFormat.All, (result, format) => Row(result, format, count, binary)));
        }

        new ReportPage(folder, "orders", "Orders: protobuf against the serializers of data contracts")
            .Paragraph(
                """
                A client asks for orders of three lines each; the server makes, writes and sends them. All
                formats use the same transport, the raw layer over TCP, so that only the format differs.
                This is the experiment that compared protobuf with the binary XML of WCF.
                """)
            .Paragraph(options.Describe())
            .Chart("Requests answered", "replies/s", panels)
            .Table(
                ["orders", "format", "replies/s", "orders/s", "of binary XML", "bytes of the orders",
                    "bytes on the network", "CPU us a call"],
                rows)
            .Save(options.CommandOf("orders"));
    }

    // Request and reply with all headers.
    private static int BytesOnNetwork(OrderFormat format, int count)
    {
        using RpcRawServer server = OrderCaller.Serve(Endpoint, format);
        WireSize size = WireSize.Measure(
            server.Endpoints[0].Port, endpoint => new OrderCaller(endpoint, format, count));
        return size.Request + size.Reply;
    }

    private static string[] Row(
        TransportResult result, OrderFormat format, int count, TransportResult binary) =>
    [
        count.ToString(CultureInfo.InvariantCulture),
        format.Title,
        ResultTable.Rate(result.CallsPerSecond),
        ResultTable.Rate(result.CallsPerSecond * count),
        result.RatioTo(binary).ToString("0.00x", CultureInfo.InvariantCulture),
        ResultTable.Rate(format.Write(count).Length),
        ResultTable.Rate(BytesOnNetwork(format, count)),
        ResultTable.Rate(result.ClientCpu + result.ServerCpu),
    ];
}
