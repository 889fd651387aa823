using System.Globalization;
using ProtoRpc.Fuzz.Engine;

namespace ProtoRpc.Fuzz;

/// <summary>The table of inputs that were tried, over all recorded runs.</summary>
internal static class FuzzTable
{
    private const string Head =
        "| target | inputs | accepted | what must hold | bytes per input byte, at most |\n"
        + "| --- | ---: | ---: | --- | ---: |";

    /// <summary>A new table, with the counts of the old one added.</summary>
    public static string Add(string old, IEnumerable<TargetResult> results)
    {
        Dictionary<string, string> rows = new(StringComparer.Ordinal);
        Dictionary<string, (long Inputs, long Accepted)> counts = new(StringComparer.Ordinal);
        foreach (string[] cells in old.Split('\n').Select(
            line => line.Split('|', StringSplitOptions.TrimEntries)))
        {
            if (cells.Length == 7 && TryRead(cells[2], out long inputs)
                && TryRead(cells[3], out long accepted))
            {
                rows[cells[1]] = string.Join(" | ", cells).Trim();
                counts[cells[1]] = (inputs, accepted);
            }
        }

        foreach (TargetResult result in results)
        {
            (long inputs, long accepted) = counts.GetValueOrDefault(result.Name);
            counts[result.Name] = (inputs += result.Inputs, accepted += result.Accepted);
            string bound = result.BytesPerByte is { } factor ? Text(factor) : "not measured";
            rows[result.Name] =
                $"| {result.Name} | {Text(inputs)} | {Text(accepted)} | {result.Promise} | {bound} |";
        }

        rows.Remove("all");
        string all = $"| all | {Text(Sum(c => c.Inputs))} | {Text(Sum(c => c.Accepted))} | | |";
        return string.Join('\n', [Head, .. rows.OrderBy(r => r.Key, StringComparer.Ordinal).Select(
            r => r.Value), all]);

        long Sum(Func<(long Inputs, long Accepted), long> of) =>
            counts.Where(pair => pair.Key != "all").Sum(pair => of(pair.Value));
    }

    private static bool TryRead(string cell, out long number) =>
        long.TryParse(cell, NumberStyles.AllowThousands, CultureInfo.InvariantCulture, out number);

    private static string Text(long number) => number.ToString("N0", CultureInfo.InvariantCulture);
}
