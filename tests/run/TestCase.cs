namespace ProtoRpc.TestRun;

/// <summary>A test that failed or was skipped.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Message">The failure, or the reason of the skip.</param>
internal sealed record TestCase(string Name, string Message);
