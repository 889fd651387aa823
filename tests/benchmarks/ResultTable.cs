using System.Globalization;

namespace ProtoRpc.Benchmarks;

/// <summary>Prints results as an aligned table, row by row as they come.</summary>
internal sealed class ResultTable
{
    private readonly int[] _widths;

    public ResultTable(params string[] headings)
    {
        _widths = [.. headings.Select(heading => Math.Max(heading.Length, 12) + 2)];
        Row(headings);
        Row([.. _widths.Select(width => new string('-', width - 2))]);
    }

    public void Row(params string[] cells) =>
        Console.WriteLine(string.Concat(cells.Select((cell, i) => cell.PadRight(_widths[i]))).TrimEnd());

    /// <summary>A number of calls or of something else, small ones with decimals.</summary>
    public static string Rate(double number) =>
        number.ToString(Math.Abs(number) is > 0 and < 9.95 ? "0.##" : "N0", CultureInfo.InvariantCulture);

    public static double Median(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        int middle = sorted.Length / 2;
        return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
