using System.Text.RegularExpressions;
using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.Docs;

/// <summary>The address of the project, which is a placeholder until the project is published.</summary>
public static class ProjectAddressTests
{
    // docs/packages.md says that no other file has to change.
    private const string OnlyFile = "ProtoRpc.psd1";

    private static readonly string[] Folders =
        [".ci", ".config", ".github", "cmdlets", "docs", "examples", "lib", "protos", "tests"];

    // owner/name: the address of the icon has another host.
    private static readonly string Project = string.Join('/', Address("ProjectUri").Split('/')[^2..]);

    [Fact]
    public static void Only_the_manifest_of_the_module_has_the_address()
    {
        Regex address = new($@"github\w*\.com[/:]{Regex.Escape(Project)}\b", RegexOptions.IgnoreCase);

        Assert.Equal([OnlyFile], Repository.Files("*", Folders)
            .Where(file => address.IsMatch(File.ReadAllText(Path.Combine(Repository.Root, file)))));
    }

    [Theory]
    [InlineData("LicenseUri")]
    [InlineData("IconUri")]
    [InlineData("ReleaseNotes")]
    public static void The_manifest_has_one_project_in_all_addresses(string key) =>
        Assert.Contains($"/{Project}/", Address(key), StringComparison.Ordinal);

    private static string Address(string key) =>
        ModuleManifest.Read(Path.Combine(Repository.Root, OnlyFile)).Value(key);
}
