namespace ProtoRpc.TestRun;

/// <summary>The result of a suite.</summary>
internal sealed record SuiteResult(
    string Suite, TestCounts Counts, IReadOnlyList<TestCase> Failures, IReadOnlyList<TestCase> Skips)
{
    /// <summary>The result of a suite that did not run to its end: the counts so far, and one more
    /// failure.</summary>
    public SuiteResult WithFailure(string name, string message) => this with
    {
        Counts = Counts + new TestCounts(0, 1, 0),
        Failures = [.. Failures, new TestCase(name, message)],
    };

    /// <summary>One more test that was skipped.</summary>
    public SuiteResult WithSkip(string name, string reason) => this with
    {
        Counts = Counts + new TestCounts(0, 0, 1),
        Skips = [.. Skips, new TestCase(name, reason)],
    };

    /// <summary>Both together, under the name of this.</summary>
    public SuiteResult With(SuiteResult other) => new(
        Suite, Counts + other.Counts, [.. Failures, .. other.Failures], [.. Skips, .. other.Skips]);

    public static SuiteResult Empty(string suite) => new(suite, default, [], []);

    public static SuiteResult Skipped(string suite, int tests, string reason) =>
        new(suite, new TestCounts(0, 0, tests), [], [new TestCase($"{suite} ({tests} tests)", reason)]);
}
