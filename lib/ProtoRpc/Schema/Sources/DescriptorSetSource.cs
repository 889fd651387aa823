using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema.Sources;

/// <summary>Files that are serialized FileDescriptorSets.</summary>
internal sealed class DescriptorSetSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } =
        [".pb", ".protoset", ".desc", ".binpb", ".bin", ".fds"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult<IReadOnlyList<SchemaPart>>(
        [
            .. locations.Select(Read),
        ]);

    /// <summary>A descriptor set as a part of a schema.</summary>
    /// <param name="bytes">The set; kept, not copied.</param>
    /// <param name="origin">What it is, for error messages.</param>
    /// <param name="path">What the part is named by.</param>
    /// <exception cref="RpcException">InvalidArgument when the bytes are no such set.</exception>
    public static SchemaPart PartOf(byte[] bytes, string origin, string path)
    {
        IReadOnlyList<DescriptorFile> files = DescriptorSetReader.Read(bytes, origin);
        return new SchemaPart(
            files, DescriptorLinker.FindRoots(files), [], Path.GetFileNameWithoutExtension(path));
    }

    private static SchemaPart Read(SourceFile file)
    {
        try
        {
            return PartOf(BytesOf(file), $"'{file.Given}'", file.FullPath) with { Paths = [file.FullPath] };
        }
        catch (RpcException e) when (file.IsMatched)
        {
            return SchemaPart.WithoutFiles([file], [SchemaPart.WarningOf(file, e.Message)], e);
        }
    }

    private static byte[] BytesOf(SourceFile file)
    {
        try
        {
            return File.ReadAllBytes(file.FullPath);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid($"Cannot read '{file.Given}': {FileProblem.Of(e, file.Given)}.", e);
        }
    }
}
