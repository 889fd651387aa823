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
        PackOptions options = PackOptions.Parse(["--ready-to-run", "win-x64", "--archive", "linux-x64"]);

        Assert.Equal(["win-x64"], options.ModulePlatforms);
        Assert.Equal(["linux-x64"], options.Platforms);
        Assert.Empty(PackOptions.Parse(["--ready-to-run", "none"]).ModulePlatforms);
    }

    [Fact]
    public static void The_module_alone_goes_to_a_folder()
    {
        Assert.False(PackOptions.Parse(["--out", "here"]).ModuleOnly);
        Assert.True(PackOptions.Parse(["--module"]).ModuleOnly);
        PackOptions options = PackOptions.Parse(["--module", "--out", "here"]);

        Assert.True(options.ModuleOnly);
        Assert.Equal(Path.GetFullPath("here"), options.OutputIn("root"));
        Assert.Equal(options, PackOptions.Parse(["--out", "here", "--module"]) with
        {
            Platforms = options.Platforms,
            ModulePlatforms = options.ModulePlatforms,
        });
    }

    [Theory]
    [InlineData("--out")]
    [InlineData("--out", "")]
    [InlineData("--archive", "amiga")]
    [InlineData("--ready-to-run", "amiga")]
    [InlineData("--module", "linux-x64")]
    [InlineData("--module", "--tag", "v1.2.3")]
    [InlineData("--module", "--archive", "none")]
    [InlineData("--module", "--out")]
    [InlineData("--module", "--out", "")]
    [InlineData("--bogus", "x")]
    public static void Refuses_what_it_does_not_understand(params string[] arguments) =>
        Assert.Throws<ArgumentException>(() => PackOptions.Parse(arguments));
}
