using System.Text.Json;
using System.Xml.Linq;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The NuGet packages whose files a project ships, as the restored project lists them.</summary>
internal static class ShippedPackages
{
    /// <summary>Reads a project.assets.json.</summary>
    public static IReadOnlyList<ShippedPackage> Read(string assetsFile)
    {
        using JsonDocument document = JsonDocument.Parse(File.ReadAllBytes(assetsFile));
        JsonElement root = document.RootElement;
        string[] folders = [.. root.GetProperty("packageFolders").EnumerateObject().Select(f => f.Name)];
        JsonElement libraries = root.GetProperty("libraries");
        return
        [
            .. root.GetProperty("targets").EnumerateObject()
                .SelectMany(target => target.Value.EnumerateObject())
                .Where(library => library.Value.GetProperty("type").GetString() == "package")
                .DistinctBy(library => library.Name)
                .Select(library => (library.Value,
                    Package: Of(library.Name, libraries.GetProperty(library.Name), folders)))
                .Where(library => library.Package.IsOfCompiler || HasAssembly(library.Value))
                .Select(library => library.Package),
            .. Runtimes(root, folders).Distinct().Where(package => package.IsRuntime),
        ];
    }

    private static bool HasAssembly(JsonElement library) =>
        library.TryGetProperty("runtime", out JsonElement files)
        && files.EnumerateObject().Any(file => !file.Name.EndsWith("/_._", StringComparison.Ordinal));

    private static ShippedPackage Of(string name, JsonElement library, string[] folders)
    {
        string path = library.GetProperty("path").GetString()!;
        string hash = Convert.ToHexStringLower(
            Convert.FromBase64String(library.GetProperty("sha512").GetString()!));
        string? folder = folders.Select(f => Path.Combine(f, path)).FirstOrDefault(Directory.Exists);
        string[] parts = name.Split('/');
        return new ShippedPackage(
            parts[0], parts[1], hash, folder is null ? null : LicenseOf(folder), folder);
    }

    // A self-contained program downloads its runtime without a reference.
    private static IEnumerable<ShippedPackage> Runtimes(JsonElement root, string[] folders) =>
        from framework in root.GetProperty("project").GetProperty("frameworks").EnumerateObject()
        where framework.Value.TryGetProperty("downloadDependencies", out _)
        from item in framework.Value.GetProperty("downloadDependencies").EnumerateArray()
        let name = item.GetProperty("name").GetString()!
        let version = item.GetProperty("version").GetString()!.Trim('[', ']').Split(',')[0]
        let folder = folders.Select(f => Path.Combine(f, name.ToLowerInvariant(), version))
            .FirstOrDefault(Directory.Exists)
        select new ShippedPackage(
            name, version, null, folder is null ? null : LicenseOf(folder), folder);

    private static string? LicenseOf(string folder)
    {
        string? nuspec = Directory.EnumerateFiles(folder, "*.nuspec").FirstOrDefault();
        XElement? license = nuspec is null ? null
            : XDocument.Load(nuspec).Descendants()
                .FirstOrDefault(element => element.Name.LocalName == "license");
        return license?.Attribute("type")?.Value == "expression" ? license.Value : null;
    }
}
