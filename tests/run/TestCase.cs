namespace ProtoRpc.TestRun;

/// <summary>A test that failed or was skipped.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Message">What went wrong, or why it was skipped.</param>
internal sealed record TestCase(string Name, string Message);
