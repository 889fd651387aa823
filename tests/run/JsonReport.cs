using System.Text.Json;

namespace ProtoRpc.TestRun;

/// <summary>Reads the JSON reports of the programs that run tests in a shell or on Windows.</summary>
internal static class JsonReport
{
    private static readonly JsonSerializerOptions Names = new(JsonSerializerDefaults.Web);

    private sealed record Report(int Passed, TestCase[] Failures, TestCase[] Skips);

    /// <exception cref="FormatException">It is not a complete report.</exception>
    public static SuiteResult Read(string suite, string json)
    {
        try
        {
            Report report = JsonSerializer.Deserialize<Report>(json, Names)
                ?? throw new FormatException("The report is empty.");
            if (report.Failures is null || report.Skips is null)
            {
                throw new FormatException("The report lacks a list.");
            }

            TestCounts counts = new(report.Passed, report.Failures.Length, report.Skips.Length);
            return new SuiteResult(suite, counts, report.Failures, report.Skips);
        }
        catch (JsonException e)
        {
            throw new FormatException($"The report is not JSON: {e.Message}", e);
        }
    }
}
