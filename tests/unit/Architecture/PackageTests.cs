using System.Text.Json;
using System.Xml.Linq;

namespace ProtoRpc.Tests.Architecture;

/// <summary>Which packages a build takes: exact versions, listed with their hashes, from one
/// source.</summary>
public static class PackageTests
{
    private const string LockFile = "packages.lock.json";

    // docs/security-promises.md has the reason.
    private static readonly string[] NotLocked = ["tests/trimmed"];

    public static TheoryData<string> Projects =>
    [
        .. new[] { "cmdlets", "lib", "tests" }
            .SelectMany(folder => Directory.EnumerateFiles(
                Path.Combine(Repository.Root, folder), "*.csproj", SearchOption.AllDirectories))
            .Select(file => Path.GetRelativePath(Repository.Root, file).Replace('\\', '/'))
            .Where(file => !NotLocked.Contains(Path.GetDirectoryName(file)!.Replace('\\', '/')))
            .Order(StringComparer.Ordinal),
    ];

    [Theory]
    [MemberData(nameof(Projects))]
    public static void A_project_lists_the_packages_that_it_names_with_their_hashes(string project)
    {
        string path = Path.Combine(Repository.Root, project);
        Dictionary<string, string> versions = CentralVersions();

        using JsonDocument list = JsonDocument.Parse(
            File.ReadAllText(Path.Combine(Path.GetDirectoryName(path)!, LockFile)));

        JsonProperty[] listed =
            [.. list.RootElement.GetProperty("dependencies").EnumerateObject()
                .SelectMany(framework => framework.Value.EnumerateObject())];
        foreach (JsonProperty package in listed.Where(package => TypeOf(package) != "Project"))
        {
            Assert.NotEmpty(package.Value.GetProperty("contentHash").GetString()!);
        }

        foreach (string name in NamesOf(path))
        {
            JsonProperty package = Assert.Single(
                listed, package => package.Name == name && TypeOf(package) == "Direct");
            Assert.Equal(versions[name], package.Value.GetProperty("resolved").GetString());
        }
    }

    [Fact]
    public static void Versions_are_exact()
    {
        Dictionary<string, string> versions = CentralVersions();

        Assert.NotEmpty(versions);
        Assert.All(
            versions.Values, version => Assert.Matches("^[0-9]+(\\.[0-9]+)+(-[0-9a-z.-]+)?$", version));
    }

    [Fact]
    public static void Packages_come_from_one_source()
    {
        XElement settings = XElement.Load(Path.Combine(Repository.Root, "nuget.config"));

        XElement sources = Assert.Single(settings.Elements("packageSources"));
        Assert.Equal(["clear", "add"], sources.Elements().Select(e => e.Name.LocalName));
        Assert.Equal(
            "https://api.nuget.org/v3/index.json", (string?)sources.Element("add")!.Attribute("value"));
        XElement source = Assert.Single(settings.Descendants("packageSource"));
        Assert.Equal("nuget.org", source.Attribute("key")!.Value);
    }

    private static string TypeOf(JsonProperty package) => package.Value.GetProperty("type").GetString()!;

    private static Dictionary<string, string> CentralVersions() =>
        XElement.Load(Path.Combine(Repository.Root, "Directory.Packages.props"))
            .Descendants("PackageVersion")
            .ToDictionary(
                package => package.Attribute("Include")!.Value,
                package => package.Attribute("Version")!.Value);

    private static IEnumerable<string> NamesOf(string project) =>
        XElement.Load(project).Descendants("PackageReference")
            .Select(package => package.Attribute("Include")!.Value);
}
