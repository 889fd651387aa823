namespace ProtoRpc.TestRun;

/// <summary>A set of tests that one program runs.</summary>
internal interface ITestSuite
{
    /// <summary>The name that <c>--suite</c> takes.</summary>
    string Name { get; }

    /// <summary>What the suite needs beside the .NET SDK, for people; empty for nothing.</summary>
    string Needs => "";

    /// <summary>The projects to build before, from the root of the repository on.</summary>
    IReadOnlyList<string> Projects => [];

    /// <summary>Whether the tests start PowerShell from the PATH.</summary>
    bool StartsPowerShell => false;

    /// <summary>Whether there is something to run here.</summary>
    bool Exists => true;

    /// <summary>Runs them. A run that broke is a failure in the result.</summary>
    /// <param name="filter">Part of the names of the tests to run, or null for all.</param>
    Task<SuiteResult> RunAsync(string? filter);
}
