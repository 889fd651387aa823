namespace ProtoRpc.TestRun;

/// <summary>A set of tests that one program runs.</summary>
internal interface ITestSuite
{
    /// <summary>The name of the suite, for <c>--suite</c>.</summary>
    string Name { get; }

    /// <summary>The programs that the suite needs besides the .NET SDK, as a text for the user; empty for
    /// none.</summary>
    string Needs => "";

    /// <summary>The projects to build before, from the root of the repository on.</summary>
    IReadOnlyList<string> Projects => [];

    /// <summary>Whether the tests start PowerShell from the PATH.</summary>
    bool StartsPowerShell => false;

    /// <summary>Whether the suite's files exist. <c>--all</c> leaves out a suite without files.</summary>
    bool Exists => true;

    /// <summary>Runs them. A run that broke is a failure in the result.</summary>
    /// <param name="filter">Part of the names of the tests to run, or null for all.</param>
    Task<SuiteResult> RunAsync(string? filter);
}
