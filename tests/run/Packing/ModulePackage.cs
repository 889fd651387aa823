using System.Text;
using System.Xml.Linq;

namespace ProtoRpc.TestRun.Packing;

/// <summary>The module as a package of the PowerShell Gallery, in the shape of <c>Publish-PSResource</c>.
/// </summary>
internal static class ModulePackage
{
    // The namespace that Publish-PSResource writes.
    private static readonly XNamespace Nuspec = "http://schemas.microsoft.com/packaging/2011/08/nuspec.xsd";
    private static readonly XNamespace Types = "http://schemas.openxmlformats.org/package/2006/content-types";
    private static readonly XNamespace Links = "http://schemas.openxmlformats.org/package/2006/relationships";

    /// <summary>Writes the package of a module's folder.</summary>
    public static void Write(string path, string folder, ModuleManifest manifest, DateTimeOffset time)
    {
        PackedEntry[] files = [.. PackedEntry.Under(folder)];
        PackedArchive.WriteZip(
            path,
            [
                .. files,
                Xml("ProtoRpc.nuspec", MakeNuspec(manifest)),
                Xml("_rels/.rels", MakeLinks()),
                Xml("[Content_Types].xml", MakeTypes(files)),
            ],
            time);
    }

    private static XElement MakeNuspec(ModuleManifest manifest) => new(
        Nuspec + "package",
        new XElement(
            Nuspec + "metadata",
            new XElement(Nuspec + "id", "ProtoRpc"),
            new XElement(Nuspec + "version", manifest.Version),
            new XElement(Nuspec + "authors", manifest.Value("Author")),
            new XElement(Nuspec + "owners", manifest.Value("CompanyName")),
            new XElement(Nuspec + "requireLicenseAcceptance", "false"),
            new XElement(Nuspec + "licenseUrl", manifest.Value("LicenseUri")),
            new XElement(Nuspec + "projectUrl", manifest.Value("ProjectUri")),
            new XElement(Nuspec + "iconUrl", manifest.Value("IconUri")),
            new XElement(Nuspec + "description", manifest.Value("Description")),
            new XElement(Nuspec + "releaseNotes", manifest.Value("ReleaseNotes")),
            new XElement(Nuspec + "copyright", manifest.Value("Copyright")),
            new XElement(Nuspec + "tags", string.Join(' ', TagsOf(manifest))),
            new XElement(Nuspec + "dependencies")));

    // The Gallery finds a module by its commands through these tags.
    private static IEnumerable<string> TagsOf(ModuleManifest manifest)
    {
        IReadOnlyList<string> cmdlets = manifest.List("CmdletsToExport");
        return
        [
            "PSModule", .. manifest.List("Tags"), "PSIncludes_Cmdlet",
            .. cmdlets.Select(name => $"PSCmdlet_{name}"), .. cmdlets.Select(name => $"PSCommand_{name}"),
        ];
    }

    private static XElement MakeLinks() => new(
        Links + "Relationships",
        new XElement(
            Links + "Relationship",
            new XAttribute("Type", "http://schemas.microsoft.com/packaging/2010/07/manifest"),
            new XAttribute("Target", "/ProtoRpc.nuspec"),
            new XAttribute("Id", "R1")));

    private static XElement MakeTypes(IEnumerable<PackedEntry> files)
    {
        string[] names = [.. files.Select(file => file.Name)];
        return new XElement(
            Types + "Types",
            Default("rels", "application/vnd.openxmlformats-package.relationships+xml"),
            names.Select(Path.GetExtension).OfType<string>().Where(end => end.Length > 1)
                .Select(end => end[1..]).Append("nuspec").Distinct().Order(StringComparer.Ordinal)
                .Select(end => Default(end, "application/octet")),
            // A file without an extension needs an entry with its name.
            names.Where(name => Path.GetExtension(name).Length == 0).Order(StringComparer.Ordinal)
                .Select(name => new XElement(
                    Types + "Override",
                    new XAttribute("PartName", $"/{name}"),
                    new XAttribute("ContentType", "application/octet"))));
    }

    private static XElement Default(string end, string type) => new(
        Types + "Default", new XAttribute("Extension", end), new XAttribute("ContentType", type));

    private static PackedEntry Xml(string name, XElement root) => new(
        name,
        Encoding.UTF8.GetBytes(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
            + root.ToString().ReplaceLineEndings("\n") + "\n"));
}
