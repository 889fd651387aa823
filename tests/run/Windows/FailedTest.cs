namespace ProtoRpc.TestRun.Windows;

/// <summary>A test that failed, or ran when its process ended.</summary>
/// <param name="Class">The class that ran, or null.</param>
/// <param name="Id">xunit's id of the test; null for a failure outside of a test.</param>
/// <param name="Case">Its name and its failure.</param>
internal sealed record FailedTest(string? Class, string? Id, TestCase Case);
