namespace ProtoRpc.Tests.Shared;

public static class FileProblemTests
{
    private static readonly string Folder = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid()}");

    [Fact]
    public static void Does_not_repeat_the_path_that_the_error_shows()
    {
        string file = Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid()}.json");
        string below = Path.Combine(Folder, "x.json");

        Assert.Equal("the file does not exist", ReasonOf(() => File.ReadAllText(file), file));
        Assert.Equal("its folder does not exist", ReasonOf(() => File.ReadAllText(below), below));
        Assert.Equal(
            "it is a folder", ReasonOf(() => File.ReadAllText(Path.GetTempPath()), Path.GetTempPath()));
    }

    [Theory]
    [InlineData("Access to the path '/f/x' is denied.", "access is denied")]
    [InlineData("Access to the path '/f/y' is denied.", "Access to the path '/f/y' is denied")]
    public static void Keeps_the_path_of_another_file(string message, string reason) =>
        Assert.Equal(reason, FileProblem.Describe(new UnauthorizedAccessException(message), "/f/x"));

    [Theory]
    [InlineData("No space left on device : '/f/x'", "No space left on device")]
    [InlineData(
        "The process cannot access the file '/f/x' because it is being used by another process.",
        "The process cannot access the file because it is being used by another process")]
    [InlineData("Input/output error", "Input/output error")]
    public static void Keeps_the_reason(string message, string reason) =>
        Assert.Equal(reason, FileProblem.Describe(new IOException(message), "/f/x"));

    private static string ReasonOf(Action action, string shown) =>
        FileProblem.Describe(Assert.ThrowsAny<Exception>(action), shown);
}
