namespace ProtoRpc.Tests.Architecture;

/// <summary>What a test of the architecture found.</summary>
internal static class Findings
{
    /// <summary>Fails when there is one, with all of them: a collection would be shown cut off.</summary>
    public static void None(IEnumerable<string> findings)
    {
        string[] found = [.. findings.Distinct().Order(StringComparer.Ordinal)];
        if (found.Length > 0)
        {
            Assert.Fail(string.Join(Environment.NewLine, found));
        }
    }
}
