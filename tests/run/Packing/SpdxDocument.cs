using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace ProtoRpc.TestRun.Packing;

/// <summary>A bill of materials in the format SPDX 2.3: each package and archive, and its contents.</summary>
internal static class SpdxDocument
{
    private const string DocumentId = "SPDXRef-DOCUMENT";
    private const string Unknown = "NOASSERTION";

    // The file contains names and addresses, and no browser reads it, so '+' and '>' need no escapes.
    private static readonly JsonSerializerOptions Format = new()
    {
        WriteIndented = true,
        NewLine = "\n",
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    };

    /// <summary>Makes the text.</summary>
    /// <param name="folder">The folder that the names of files begin at.</param>
    /// <param name="source">The version and the addresses.</param>
    /// <param name="commit">The commit that was built, or null.</param>
    /// <param name="time">The time that the document names.</param>
    /// <param name="artifacts">The packages and archives.</param>
    public static string Make(
        string folder, ModuleManifest source, string? commit, DateTimeOffset time,
        IReadOnlyList<PackedArtifact> artifacts)
    {
        JsonArray packages = [];
        JsonArray relations = [];
        foreach (PackedArtifact artifact in artifacts.OrderBy(a => a.File, StringComparer.Ordinal))
        {
            string name = Path.GetRelativePath(folder, artifact.File).Replace('\\', '/');
            string id = IdOf(name);
            packages.Add(Ours(id, name, artifact.File, source));
            relations.Add(Relation(DocumentId, "DESCRIBES", id));
            foreach (ShippedPackage package in artifact.Packages.OrderBy(IdOf, StringComparer.Ordinal))
            {
                relations.Add(Relation(id, artifact.HasThem ? "CONTAINS" : "DEPENDS_ON", IdOf(package)));
            }
        }

        foreach (ShippedPackage package in artifacts.SelectMany(artifact => artifact.Packages)
            .DistinctBy(IdOf).OrderBy(IdOf, StringComparer.Ordinal))
        {
            packages.Add(Theirs(package));
        }

        JsonObject document = new()
        {
            ["spdxVersion"] = "SPDX-2.3",
            ["dataLicense"] = "CC0-1.0",
            ["SPDXID"] = DocumentId,
            ["name"] = $"ProtoRpc-{source.Version}",
            ["documentNamespace"] =
                $"{source.Value("ProjectUri")}/spdx/{source.Version}/{commit ?? "unknown"}",
            ["creationInfo"] = new JsonObject
            {
                ["created"] = time.UtcDateTime.ToString("yyyy-MM-dd'T'HH:mm:ss'Z'"),
                ["creators"] = new JsonArray(
                    $"Organization: {source.Value("CompanyName")}", "Tool: tests/run pack"),
            },
            ["packages"] = packages,
            ["relationships"] = relations,
        };
        return document.ToJsonString(Format) + "\n";
    }

    private static JsonObject Ours(string id, string name, string file, ModuleManifest source) => new()
    {
        ["name"] = Path.GetFileName(name),
        ["SPDXID"] = id,
        ["versionInfo"] = source.Version,
        ["packageFileName"] = name,
        ["supplier"] = $"Organization: {source.Value("CompanyName")}",
        ["downloadLocation"] = Unknown,
        ["homepage"] = source.Value("ProjectUri"),
        ["filesAnalyzed"] = false,
        ["checksums"] = new JsonArray(Sum("SHA256", Checksums.Of(file))),
        ["licenseConcluded"] = Unknown,
        ["licenseDeclared"] = "MIT",
        ["copyrightText"] = Unknown,
    };

    private static JsonObject Theirs(ShippedPackage package)
    {
        JsonObject made = new()
        {
            ["name"] = package.Name,
            ["SPDXID"] = IdOf(package),
            ["versionInfo"] = package.Version,
            ["downloadLocation"] = $"https://www.nuget.org/api/v2/package/{package.Name}/{package.Version}",
            ["filesAnalyzed"] = false,
            ["licenseConcluded"] = Unknown,
            ["licenseDeclared"] = package.License ?? Unknown,
            ["copyrightText"] = Unknown,
            ["externalRefs"] = new JsonArray(new JsonObject
            {
                ["referenceCategory"] = "PACKAGE-MANAGER",
                ["referenceType"] = "purl",
                ["referenceLocator"] = $"pkg:nuget/{package.Name}@{package.Version}",
            }),
        };
        if (package.Sha512 is { } hash)
        {
            made["checksums"] = new JsonArray(Sum("SHA512", hash));
        }

        return made;
    }

    private static JsonObject Sum(string algorithm, string value) =>
        new() { ["algorithm"] = algorithm, ["checksumValue"] = value };

    private static JsonObject Relation(string from, string kind, string to) => new()
    {
        ["spdxElementId"] = from,
        ["relationshipType"] = kind,
        ["relatedSpdxElement"] = to,
    };

    private static string IdOf(ShippedPackage package) => IdOf($"{package.Name}-{package.Version}");

    // SPDX only allows letters, digits, '.' and '-' in an id.
    private static string IdOf(string name) =>
        $"SPDXRef-{string.Concat(name.Select(c => char.IsAsciiLetterOrDigit(c) || c == '.' ? c : '-'))}";
}
