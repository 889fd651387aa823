namespace ProtoRpc.Benchmarks.Report;

/// <summary>Bars that share a scale: what was measured of one size, for each stack.</summary>
/// <param name="Name">The size, or what else these bars have in common.</param>
/// <param name="Bars">In the order in which they are drawn.</param>
internal sealed record ChartPanel(string Name, IReadOnlyList<ChartBar> Bars);

/// <summary>One result with its spread.</summary>
/// <param name="Label">What was measured.</param>
/// <param name="Worst">The smallest value.</param>
/// <param name="Average">As long as the bar is.</param>
/// <param name="Best">The largest value.</param>
internal sealed record ChartBar(string Label, double Worst, double Average, double Best)
{
    /// <summary>Worst, average and best of some values.</summary>
    public static ChartBar Of(string label, IReadOnlyCollection<double> values) =>
        new(label, values.Min(), values.Average(), values.Max());
}
