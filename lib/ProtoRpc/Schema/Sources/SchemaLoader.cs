using ProtoRpc.Schema.Linking;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Schema.Sources;

/// <summary>Loads schemas from files.</summary>
internal static class SchemaLoader
{
    private static readonly string[] SetEndings = [".pb", ".protoset", ".desc", ".binpb", ".fds"];

    /// <summary>The endings that are understood, for error messages.</summary>
    public static string Endings => $".proto, {string.Join(", ", SetEndings)}";

    public static RpcSchema Load(
        IEnumerable<string> paths, IEnumerable<string> importPaths, string? baseFolder)
    {
        string folder = Path.GetFullPath(baseFolder ?? Environment.CurrentDirectory);
        IReadOnlyList<SourceFile> sources =
        [
            .. paths.SelectMany(p => PathPattern.Expand(p, folder)).DistinctBy(s => s.FullPath),
        ];
        if (sources.Count == 0)
        {
            throw SchemaError.Invalid($"No schema file is given; give one or more of {Endings}.");
        }

        DescriptorFileMerge merge = new();
        List<string> warnings = [];
        SourceFile[] protos = [.. sources.Where(s => !IsDescriptorSet(s.FullPath))];
        if (protos.Length > 0)
        {
            foreach (ProtocResult result in ProtocCompiler.Compile(protos, [.. importPaths], folder))
            {
                merge.Add(result.Files, result.RootFiles, result.Label);
                warnings.AddRange(result.Warnings);
            }
        }

        foreach (SourceFile set in sources.Where(s => IsDescriptorSet(s.FullPath)))
        {
            IReadOnlyList<DescriptorFile> files = DescriptorSetReader.Read(ReadBytes(set), $"'{set.Given}'");
            merge.Add(
                files, DescriptorLinker.FindRoots(files), Path.GetFileNameWithoutExtension(set.FullPath));
        }

        return new RpcSchema(DescriptorLinker.Link(merge.Files), merge.RootFiles, warnings);
    }

    /// <summary>Whether the ending is one that is understood.</summary>
    public static bool IsKnown(string path) =>
        path.EndsWith(".proto", StringComparison.OrdinalIgnoreCase) || IsDescriptorSet(path);

    private static bool IsDescriptorSet(string path) =>
        SetEndings.Contains(Path.GetExtension(path), StringComparer.OrdinalIgnoreCase);

    private static byte[] ReadBytes(SourceFile file)
    {
        try
        {
            return File.ReadAllBytes(file.FullPath);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid($"Cannot read '{file.Given}': {e.Message}", e);
        }
    }
}
