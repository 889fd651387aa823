using System.Globalization;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>The table of docs/reliability.md, in the file that the environment variable
/// <c>PROTORPC_FAULT_REPORT</c> names. Without it nothing is written.</summary>
internal static class FaultReport
{
    private const string Variable = "PROTORPC_FAULT_REPORT";
    private const string Head =
        "| endpoint | protection | conversations harmed | answered | ended with one error |\n"
        + "| --- | --- | ---: | ---: | ---: |\n";

    // Test classes run side by side.
    private static readonly Lock Gate = new();

    /// <summary>Harms conversations in one way, and adds their counts.</summary>
    /// <param name="setup">How to call.</param>
    /// <param name="kind">The harm.</param>
    /// <param name="step">One of so many octets is harmed.</param>
    public static async Task TryAsync(FaultSetup setup, FaultKind kind, int step)
    {
        using FaultTrial trial = new(setup);

        FaultCount count = await trial.RunAsync(kind, step);

        Add(setup.Endpoint.Split(':')[0], setup.Name, count);
        Assert.InRange(count.All, 2, 10_000);
    }

    // Adds counts to the row of an endpoint and its protection.
    private static void Add(string endpoint, string protection, FaultCount count)
    {
        if (Environment.GetEnvironmentVariable(Variable) is not { Length: > 0 } path)
        {
            return;
        }

        lock (Gate)
        {
            SortedDictionary<string, FaultCount> rows = new(StringComparer.Ordinal);
            foreach (string line in File.Exists(path) ? File.ReadAllLines(path)[2..] : [])
            {
                string[] cells = line.Split('|', StringSplitOptions.TrimEntries);
                rows[$"{cells[1]} | {cells[2]}"] = new FaultCount(Number(cells[4]), Number(cells[5]));
            }

            string key = $"`{endpoint}` | {protection}";
            rows[key] = rows.GetValueOrDefault(key) + count;
            File.WriteAllText(path, Head + string.Concat(rows.Select(row => string.Create(
                CultureInfo.InvariantCulture,
                $"| {row.Key} | {row.Value.All:N0} | {row.Value.Answered:N0} | {row.Value.Failed:N0} |\n"))));
        }
    }

    private static int Number(string text) =>
        int.Parse(text, NumberStyles.AllowThousands, CultureInfo.InvariantCulture);
}
