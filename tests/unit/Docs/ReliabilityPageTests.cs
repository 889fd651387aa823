namespace ProtoRpc.Tests.Docs;

public static class ReliabilityPageTests
{
    [Fact]
    public static void Each_promise_names_a_test_that_is_there() =>
        NamedTests.AssertRows("reliability.md", 11);
}
