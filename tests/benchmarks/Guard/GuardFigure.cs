using System.Globalization;

namespace ProtoRpc.Benchmarks.Guard;

/// <summary>A figure that must not exceed its bound.</summary>
/// <param name="What">What was measured.</param>
/// <param name="Value">The figure.</param>
/// <param name="Most">The bound.</param>
/// <param name="Unit">Of both.</param>
/// <param name="Decimals">Of the bound; the figure has one if these are none.</param>
internal sealed record GuardFigure(string What, double Value, double Most, string Unit, int Decimals = 0)
{
    /// <summary>Whether the figure is within its bound.</summary>
    public bool IsKept => Value <= Most;

    /// <summary>The cells of a table: what, figure, bound, verdict.</summary>
    public string[] Cells =>
    [
        What,
        $"{Format(Value, Math.Max(1, Decimals))} {Unit}",
        $"{Format(Most, Decimals)} {Unit}",
        IsKept ? "kept" : "EXCEEDED",
    ];

    private static string Format(double value, int decimals) =>
        value.ToString($"N{decimals}", CultureInfo.InvariantCulture);
}
