namespace ProtoRpc.LongRun.Report;

/// <summary>Lines that share a scale.</summary>
/// <param name="Name">What they measure.</param>
/// <param name="Lines">At most two.</param>
internal sealed record LinePanel(string Name, IReadOnlyList<Line> Lines);

/// <summary>A measure of one process over time.</summary>
/// <param name="Name">The process.</param>
/// <param name="Points">In the order of time.</param>
internal sealed record Line(string Name, IReadOnlyList<(double Seconds, double Value)> Points);
