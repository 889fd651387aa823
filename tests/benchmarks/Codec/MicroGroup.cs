using System.Globalization;
using ProtoRpc.Benchmarks.Report;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>What a page compares of small operations: each row an operation, each column a way to do
/// it.</summary>
/// <param name="Name">What the operations have in common.</param>
/// <param name="Ways">The ways; the first one is the yardstick, where there are several.</param>
/// <param name="Rows">The operations, each with the times of all ways.</param>
internal sealed record MicroGroup(
    string Name, IReadOnlyList<string> Ways, IReadOnlyList<(string Operation, MicroTime[] Times)> Rows)
{
    /// <summary>The headings of <see cref="Cells"/>.</summary>
    public string[] Headings =>
    [
        "operation",
        .. Ways.Select(way => $"{way}, us"),
        .. Ways.Skip(1).Select(way => $"{way} / {Ways[0]}"),
        .. Ways.Select(way => $"{way}, bytes allocated"),
    ];

    /// <summary>The rows as text.</summary>
    public IEnumerable<string[]> Cells => Rows.Select(row => (string[])
    [
        row.Operation,
        .. row.Times.Select(time => time.Usual.ToString("0.00", CultureInfo.InvariantCulture)),
        .. row.Times.Skip(1).Select(
            time => (time.Usual / row.Times[0].Usual).ToString("0.00x", CultureInfo.InvariantCulture)),
        .. row.Times.Select(time => ResultTable.Rate(time.Allocated)),
    ]);

    /// <summary>The bars of all rows.</summary>
    public ChartPanel Panel => new(
        Name,
        [
            .. Rows.SelectMany(row => row.Times.Zip(
                Ways, (time, way) => Bar($"{row.Operation}, {way}", time))),
        ]);

    /// <summary>The bars of each way, for ways that do not do the same.</summary>
    public IReadOnlyList<ChartPanel> PanelOfEachWay =>
    [
        .. Ways.Select((way, i) => new ChartPanel(
            way, [.. Rows.Select(row => Bar(row.Operation, row.Times[i]))])),
    ];

    private static ChartBar Bar(string label, MicroTime time) =>
        new(label, time.Best, time.Usual, time.Median);
}
