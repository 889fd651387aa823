namespace ProtoRpc.TestRun;

/// <summary>What all suites came to together.</summary>
internal sealed class RunSummary(IReadOnlyList<SuiteResult> results)
{
    private readonly TestCounts _sum =
        results.Aggregate(default(TestCounts), (sum, result) => sum + result.Counts);

    /// <summary>Nothing failed, and something ran: tests that were all skipped prove nothing.</summary>
    public bool Succeeded => _sum.Failed == 0 && _sum.Passed > 0;

    /// <summary>Writes skips and failures with their reasons, and the sums as the last line.</summary>
    public void Write(TextWriter output)
    {
        foreach (TestCase test in results.SelectMany(result => result.Skips))
        {
            output.WriteLine($"SKIPPED {test.Name}: {FirstLine(test.Message)}");
        }

        foreach (TestCase test in results.SelectMany(result => result.Failures))
        {
            output.WriteLine($"FAILED {test.Name}");
            foreach (string line in test.Message.Split('\n'))
            {
                output.WriteLine($"    {line.TrimEnd()}");
            }
        }

        if (_sum.Total == 0)
        {
            output.WriteLine("Not one test ran.");
        }

        output.WriteLine(_sum);
    }

    private static string FirstLine(string text) => text.Split('\n')[0].TrimEnd();
}
