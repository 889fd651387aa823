using System.Diagnostics;

namespace ProtoRpc.TestRun;

/// <summary>Runs suites in two lanes beside each other: one has the suites that compute, one those that
/// mostly wait for peers and clocks, which alone would leave half of a small machine idle.</summary>
/// <param name="root">The repository.</param>
/// <param name="filter">Part of the names of the tests to run, or null for all.</param>
internal sealed class SuiteLanes(string root, string? filter)
{
    /// <summary>Runs the suites.</summary>
    /// <returns>What each came to, in the order of the suites.</returns>
    public async Task<IReadOnlyList<SuiteResult>> RunAsync(IReadOnlyList<ITestSuite> suites)
    {
        // It changes the PATH of this process, and so once before the lanes.
        if (suites.Any(suite => suite.StartsPowerShell))
        {
            await TestShell.FindAsync(root);
        }

        SuiteResult[] results = new SuiteResult[suites.Count];
        await Task.WhenAll(new[] { false, true }.Select(waits => Task.Run(async () =>
        {
            for (int i = 0; i < suites.Count; i++)
            {
                if (suites[i].MostlyWaits == waits)
                {
                    results[i] = await RunAsync(suites[i]);
                }
            }
        })));
        return results;
    }

    private async Task<SuiteResult> RunAsync(ITestSuite suite)
    {
        Console.WriteLine($"Running {suite.Name} ...");
        long start = Stopwatch.GetTimestamp();
        SuiteResult result = await CatchAsync(suite);
        Console.WriteLine(
            $"  {suite.Name}: {result.Counts}, {Stopwatch.GetElapsedTime(start):m\\:ss} minutes");

        // The reasons come at the end of the run, which is long.
        foreach (TestCase failed in result.Failures)
        {
            Console.WriteLine($"  FAILED {failed.Name}");
        }

        return result;
    }

    private async Task<SuiteResult> CatchAsync(ITestSuite suite)
    {
        try
        {
            return await suite.RunAsync(filter);
        }
#pragma warning disable CA1031 // Whatever breaks in one suite, the others still run and the last line comes.
        catch (Exception e)
#pragma warning restore CA1031
        {
            return SuiteResult.Empty(suite.Name).WithFailure($"{suite.Name}: the whole run", e.ToString());
        }
    }
}
