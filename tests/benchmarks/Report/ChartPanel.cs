namespace ProtoRpc.Benchmarks.Report;

/// <summary>Bars that share a scale: what was measured of one size, for each stack.</summary>
/// <param name="Name">The size, or what else these bars have in common.</param>
/// <param name="Bars">In the order in which they are drawn.</param>
internal sealed record ChartPanel(string Name, IReadOnlyList<ChartBar> Bars);

/// <summary>One result with its spread.</summary>
/// <param name="Label">What was measured.</param>
/// <param name="Low">The value at which the line begins.</param>
/// <param name="Value">As long as the bar is.</param>
/// <param name="High">The value at which it ends, no less than the others.</param>
internal sealed record ChartBar(string Label, double Low, double Value, double High)
{
    /// <summary>Least, average and greatest of some values.</summary>
    public static ChartBar Of(string label, IReadOnlyCollection<double> values) =>
        new(label, values.Min(), values.Average(), values.Max());
}
