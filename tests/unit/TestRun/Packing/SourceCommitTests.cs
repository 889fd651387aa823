using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.TestRun.Packing;

public static class SourceCommitTests
{
    private static readonly ModuleManifest Manifest = new("""
        @{
            ModuleVersion = '1.2.3'
            CmdletsToExport = @(
                'Get-One'
                'Get-Two'
            )
            Tags = @('a', 'b')
                Prerelease = 'beta1'
                ProjectUri = 'https://github.com/owner/name'
        }
        """);

    [Fact]
    public static void The_manifest_is_read()
    {
        Assert.Equal("1.2.3-beta1", Manifest.Version);
        Assert.Equal("1.2.3", Manifest.ModuleVersion);
        Assert.Equal(["Get-One", "Get-Two"], Manifest.List("CmdletsToExport"));
        Assert.Equal(["a", "b"], Manifest.List("Tags"));
        Assert.Throws<FormatException>(() => Manifest.Value("Author"));
        Assert.Throws<FormatException>(() => Manifest.List("FormatsToProcess"));
    }

    [Theory]
    [InlineData("https://github.com/owner/name")]
    [InlineData("https://github.com/Owner/name.git")]
    [InlineData("git@github.com:owner/name.git")]
    [InlineData(null)]
    public static void The_tag_of_the_version_can_be_published_from_its_repository(string? origin) =>
        At(origin).Check(Manifest, "v1.2.3-beta1");

    [Theory]
    [InlineData("v1.2.3", "https://github.com/owner/name", "*The tag is 'v1.2.3'*")]
    [InlineData("v1.2.3-beta1", "https://github.com/another/name", "*comes from*another*")]
    public static void Another_tag_or_repository_is_refused(string tag, string origin, string expected)
    {
        PackFailure failure = Assert.Throws<PackFailure>(() => At(origin).Check(Manifest, tag));

        Assert.Matches(expected.Replace("*", ".*"), failure.Message);
    }

    [Fact]
    public static void Changes_that_are_not_committed_are_refused() =>
        Assert.Throws<PackFailure>(() => (At(null) with { IsClean = false }).Check(Manifest, "v1.2.3-beta1"));

    private static SourceCommit At(string? origin) =>
        new("c0ffee", DateTimeOffset.UnixEpoch, origin, IsClean: true);
}
