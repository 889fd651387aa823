namespace ProtoRpc.TestRun;

/// <summary>A set of tests that one program runs.</summary>
internal interface ITestSuite
{
    /// <summary>The name that <c>--suite</c> takes.</summary>
    string Name { get; }

    /// <summary>Whether the repository has such tests.</summary>
    bool Exists { get; }

    /// <summary>Runs them, never longer than the suite's time limit.
    /// A run that broke is a failure in the result.</summary>
    /// <param name="filter">Part of the names of the tests to run, or null for all.</param>
    Task<SuiteResult> RunAsync(string? filter);
}
