using ProtoRpc.TestRun;

namespace ProtoRpc.Tests.TestRun;

public sealed class LineLengthTests : IDisposable
{
    private readonly DirectoryInfo _root = Directory.CreateTempSubdirectory("protorpc-lines-");

    public LineLengthTests() => Write(".editorconfig", "[*.cs]\nmax_line_length = 20\n");

    public void Dispose() => _root.Delete(recursive: true);

    [Fact]
    public void A_line_over_the_limit_is_found_with_its_file_number_and_length()
    {
        Write("lib/A.cs", $"// short\n{new string('/', 21)}\n");

        TestCase found = Assert.Single(LineLength.Check(_root.FullName));

        Assert.Equal("lib/A.cs(2)", found.Name);
        Assert.Equal("The line has 21 characters. Break it after at most 20.", found.Message);
    }

    [Theory]
    [InlineData("lib/A.cs", 20)]
    [InlineData("lib/obj/Generated.cs", 21)]
    [InlineData("artifacts/obj/A.cs", 21)]
    [InlineData(".cache/A.cs", 21)]
    [InlineData("docs/page.md", 21)]
    public void Lines_within_the_limit_and_built_or_other_files_pass(string path, int length)
    {
        Write(path, new string('x', length));

        Assert.Empty(LineLength.Check(_root.FullName));
    }

    [Fact]
    public void Line_ends_and_the_bytes_of_a_character_do_not_count()
    {
        Write("A.cs", $"{new string('ü', 20)}\r\n{new string('ü', 20)}\r\n");

        Assert.Empty(LineLength.Check(_root.FullName));
    }

    [Fact]
    public void A_missing_limit_is_an_error()
    {
        Write(".editorconfig", "[*.cs]\nindent_size = 4\n");

        Assert.Throws<FormatException>(() => LineLength.Check(_root.FullName));
    }

    private void Write(string path, string text)
    {
        string full = Path.Combine(_root.FullName, path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        File.WriteAllText(full, text);
    }
}
