using ProtoRpc.Schema;

namespace ProtoRpc.Compatibility;

/// <summary>The two schemas of a comparison, with their files and elements by name.</summary>
internal sealed class SchemaPair
{
    // Compilers include these imports, so a schema that no longer contains one of them deletes nothing.
    private static readonly string[] Bundled =
        ["google/api/", "google/protobuf/", "google/rpc/", "google/type/"];

    // Services that gRPC servers offer in addition to those of their schema.
    private static readonly string[] OfServers = ["grpc.channelz.", "grpc.health.", "grpc.reflection."];

    private readonly Dictionary<string, SchemaFile> _files;
    private readonly Dictionary<string, RpcEnumInfo> _enums;
    private readonly Dictionary<string, RpcServiceInfo> _services;
    private readonly HashSet<string> _packages;
    private readonly HashSet<string> _roots;

    public SchemaPair(RpcSchema older, RpcSchema newer)
    {
        Older = older;
        Newer = newer;
        _files = newer.SchemaFiles.DistinctBy(file => file.Name)
            .ToDictionary(file => file.Name, StringComparer.Ordinal);
        _enums = newer.Enums.ToDictionary(type => type.FullName, StringComparer.Ordinal);
        _services = newer.Services.ToDictionary(service => service.FullName, StringComparer.Ordinal);
        _packages = [.. newer.SchemaFiles.Select(file => file.Proto.Package)];
        _roots = [.. older.RootFiles];
    }

    public RpcSchema Older { get; }

    public RpcSchema Newer { get; }

    /// <summary>A file of the newer schema, or null.</summary>
    public SchemaFile? FindFile(string name) => _files.GetValueOrDefault(name);

    /// <summary>An enum of the newer schema, or null.</summary>
    public RpcEnumInfo? FindEnum(string fullName) => _enums.GetValueOrDefault(fullName);

    /// <summary>A service of the newer schema, or null.</summary>
    public RpcServiceInfo? FindService(string fullName) => _services.GetValueOrDefault(fullName);

    /// <summary>Whether the newer schema has files of a package.</summary>
    public bool HasPackage(string package) => _packages.Contains(package);

    /// <summary>Whether both schemas contain a message or enum. A server may omit a part of its schema, and
    /// unknown types are not compared.</summary>
    public bool AreKnown(string fullName) =>
        Older.Gaps?.HasPlaceholder(fullName) != true && Newer.Gaps?.HasPlaceholder(fullName) != true;

    /// <summary>Whether deletions in a file of the older schema are reported. Not for files that every
    /// compiler includes.</summary>
    public bool CanMiss(SchemaFile file) => !WellKnownFiles.Contains(file.Name)
        && (FindFile(file.Name) is not null || (!IsOfServer(file)
            && (_roots.Contains(file.Name)
                || !Bundled.Any(folder => file.Name.StartsWith(folder, StringComparison.Ordinal)))));

    private static bool IsOfServer(SchemaFile file) =>
        OfServers.Any(package => file.Proto.Package.StartsWith(package, StringComparison.Ordinal));
}

/// <summary>An element of a schema for which a change is reported.</summary>
/// <param name="Name">The full name in the older schema, if the element was there.</param>
/// <param name="File">The file that declares it.</param>
/// <param name="Path">Its place in the descriptor of the file.</param>
/// <param name="IsOld">Whether the file is of the older schema.</param>
internal sealed record SchemaElement(string Name, SchemaFile File, string Path, bool IsOld = false)
{
    public static SchemaElement Deleted(string name, SchemaFile file, string path) =>
        new(name, file, path, IsOld: true);
}
