using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public sealed class FileLengthTests : IDisposable
{
    private readonly DirectoryInfo _root = Directory.CreateTempSubdirectory("protorpc-files-");

    public void Dispose() => _root.Delete(recursive: true);

    [Fact]
    public void A_file_over_the_limit_is_found_with_the_number_of_its_lines()
    {
        Write("lib/inner/A.cs", 601);
        Write("lib/B.cs", 600);

        TestCase found = Assert.Single(FileLength.Check(_root.FullName));

        Assert.Equal("lib/inner/A.cs", found.Name);
        Assert.Equal(
            "The file has 601 lines. Split it by subject into files of at most 600.", found.Message);
    }

    [Theory]
    [InlineData("lib/obj/Generated.cs")]
    [InlineData("artifacts/obj/A.cs")]
    [InlineData(".cache/A.cs")]
    [InlineData("docs/page.md")]
    public void Built_and_other_files_pass(string path)
    {
        Write(path, 601);

        Assert.Empty(FileLength.Check(_root.FullName));
    }

    [Fact]
    public void A_last_line_without_end_counts_and_an_end_begins_no_line()
    {
        Write("A.cs", 600);
        File.AppendAllText(Path.Combine(_root.FullName, "A.cs"), "// the last");

        Assert.Equal("A.cs", Assert.Single(FileLength.Check(_root.FullName)).Name);
    }

    private void Write(string path, int lines)
    {
        string full = Path.Combine(_root.FullName, path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        File.WriteAllText(full, string.Concat(Enumerable.Repeat("// a line\n", lines)));
    }
}
