namespace ProtoRpc.TestRun;

/// <summary>The results of all suites together.</summary>
/// <param name="results">The suites that ran.</param>
/// <param name="left">The suites that were not selected.</param>
internal sealed class RunSummary(IReadOnlyList<SuiteResult> results, IReadOnlyList<ITestSuite> left)
{
    private readonly TestCounts _sum =
        results.Aggregate(default(TestCounts), (sum, result) => sum + result.Counts);

    /// <summary>Nothing failed, and something ran: tests that were all skipped prove nothing.</summary>
    public bool Succeeded => _sum.Failed == 0 && _sum.Passed > 0;

    /// <summary>Writes skips and failures with their reasons, the suites that did not run, and the sums as
    /// the last line.</summary>
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

        if (left.Count > 0)
        {
            output.WriteLine("Not asked for (add --suite NAME, or --all for everything):");
            int width = left.Max(suite => suite.Name.Length);
            foreach (ITestSuite suite in left)
            {
                output.WriteLine(suite.Needs.Length == 0
                    ? $"  {suite.Name}"
                    : $"  {suite.Name.PadRight(width)}  needs {suite.Needs}");
            }
        }

        output.WriteLine(_sum);
    }

    private static string FirstLine(string text) => text.Split('\n')[0].TrimEnd();
}
