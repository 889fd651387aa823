using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.TestRun.Packing;

public static class PackOptionsTests
{
    [Fact]
    public static void All_archives_are_made_when_nothing_is_said()
    {
        PackOptions options = PackOptions.Parse([]);

        Assert.Null(options.Output);
        Assert.Null(options.Tag);
        Assert.Equal(["linux-x64", "linux-arm64", "win-x64", "osx-arm64"], options.Platforms);
        Assert.Equal(options.Platforms, options.ModulePlatforms);
    }

    [Fact]
    public static void Takes_a_folder_archives_and_a_tag()
    {
        PackOptions options = PackOptions.Parse(
            ["--out", "here", "--archive", "win-x64", "--archive", "win-x64", "--tag", "v1.2.3"]);

        Assert.Equal(Path.GetFullPath("here"), options.Output);
        Assert.Equal(["win-x64"], options.Platforms);
        Assert.Equal("v1.2.3", options.Tag);
    }

    [Fact]
    public static void None_makes_no_archive() =>
        Assert.Empty(PackOptions.Parse(["--archive", "none"]).Platforms);

    [Fact]
    public static void The_module_is_compiled_for_the_platforms_that_are_said()
    {
        PackOptions options = PackOptions.Parse(["--module", "win-x64", "--archive", "linux-x64"]);

        Assert.Equal(["win-x64"], options.ModulePlatforms);
        Assert.Equal(["linux-x64"], options.Platforms);
        Assert.Empty(PackOptions.Parse(["--module", "none"]).ModulePlatforms);
    }

    [Theory]
    [InlineData("--out")]
    [InlineData("--out", "")]
    [InlineData("--archive", "amiga")]
    [InlineData("--module", "amiga")]
    [InlineData("--bogus", "x")]
    public static void Refuses_what_it_does_not_understand(params string[] arguments) =>
        Assert.Throws<ArgumentException>(() => PackOptions.Parse(arguments));
}
