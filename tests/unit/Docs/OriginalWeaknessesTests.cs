namespace ProtoRpc.Tests.Docs;

public static class OriginalWeaknessesTests
{
    [Fact]
    public static void Each_weakness_of_the_original_names_a_test_that_is_there() =>
        NamedTests.AssertRows("original-weaknesses.md", 29);
}
