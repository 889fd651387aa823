using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public sealed class ChangedTestsTests : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("protorpc-tests-").FullName;

    public ChangedTestsTests()
    {
        Write("tests/pester/New-RpcMock.Tests.ps1", "Describe 'New-RpcMock' { }");
        Write("tests/pester/Mocks.Tests.ps1", "Set-RpcMock; new-rpcmock; Get-RpcMockCall");
        Write("tests/pester/Views.Tests.ps1", "Get-RpcMockCall");
        Write("tests/pester/common.ps1", "Set-RpcMock");
        Write("docs/en-US/Set-RpcMock.md", "# Set-RpcMock");
        Write("docs/en-US/about_ProtoRpc.md", "New-RpcMock");
        Write("cmdlets/ProtoRpc.PowerShell/Mocks/MockBlock.cs", "class MockBlock;");
        Write(
            "cmdlets/ProtoRpc.PowerShell/Mocks/NewRpcMock.cs",
            "[Cmdlet(\n    VerbsCommon.New, \"RpcMock\")]\nclass NewRpcMock;\n"
                + "[Cmdlet(VerbsCommon.Get, \"RpcLost\")]");
    }

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void A_cmdlet_is_tested_by_the_file_of_its_name()
    {
        Assert.Equal(["New-RpcMock.Tests.ps1"], ChangedTests.OfCmdlets(_root, ["new-rpcmock"]));
    }

    [Fact]
    public void A_cmdlet_without_such_a_file_is_tested_by_all_that_name_it()
    {
        Assert.Equal(
            ["Mocks.Tests.ps1", "Views.Tests.ps1"],
            ChangedTests.OfCmdlets(_root, ["Get-RpcMockCall", "Set-RpcMock"]).Order(StringComparer.Ordinal));
    }

    [Fact]
    public void A_cmdlet_that_no_test_names_is_an_error()
    {
        ArgumentException error =
            Assert.Throws<ArgumentException>(() => ChangedTests.OfCmdlets(_root, ["Get-Nothing"]));

        Assert.Contains("'Get-Nothing'", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("tests/pester/Views.Tests.ps1", "Views.Tests.ps1")]
    [InlineData("docs/en-US/Set-RpcMock.md", "Mocks.Tests.ps1")]
    [InlineData("cmdlets/ProtoRpc.PowerShell/Mocks/MockBlock.cs", "New-RpcMock.Tests.ps1")]
    [InlineData("docs/en-US/about_ProtoRpc.md")]
    [InlineData("tests/pester/common.ps1")]
    [InlineData("tests/pester/Removed.Tests.ps1")]
    public void A_change_is_tested_by_the_files_of_its_cmdlets(string path, params string[] files)
    {
        Assert.Equal(files, ChangedTests.OfChanges(_root, [path]));
    }

    private void Write(string path, string text)
    {
        string file = Path.Combine(_root, path);
        Directory.CreateDirectory(Path.GetDirectoryName(file)!);
        File.WriteAllText(file, text);
    }
}
