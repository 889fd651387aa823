using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public static class StyleSuiteTests
{
    [Fact]
    public static void A_finding_of_dotnet_format_is_a_file_with_its_line_and_what_to_mend()
    {
        string root = Path.GetTempPath();
        string file = Path.Combine(root, "lib", "A.cs");
        string line = $"{file}(20,47): error WHITESPACE: Fix whitespace formatting. [{root}lib/A.csproj]";

        TestCase found = Assert.Single(StyleSuite.Findings(root, ["Formatting ...", line, line]));

        Assert.Equal("lib/A.cs(20,47)", found.Name);
        Assert.Equal("WHITESPACE: Fix whitespace formatting.", found.Message);
    }
}
