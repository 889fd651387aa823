using System.Globalization;

namespace ProtoRpc.Benchmarks.Guard;

/// <summary>A figure that must not exceed its bound.</summary>
/// <param name="What">What was measured.</param>
/// <param name="Value">The figure.</param>
/// <param name="Most">The bound.</param>
/// <param name="Unit">Of both.</param>
internal sealed record GuardFigure(string What, double Value, double Most, string Unit)
{
    /// <summary>Whether the figure is within its bound.</summary>
    public bool IsKept => Value <= Most;

    /// <summary>The cells of a table: what, figure, bound, verdict.</summary>
    public string[] Cells =>
    [
        What,
        string.Create(CultureInfo.InvariantCulture, $"{Value:N1} {Unit}"),
        string.Create(CultureInfo.InvariantCulture, $"{Most:N0} {Unit}"),
        IsKept ? "kept" : "EXCEEDED",
    ];
}
