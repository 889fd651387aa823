using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Schema.Sources;

/// <summary>.proto files, which protoc compiles.</summary>
internal sealed class ProtoSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } = [".proto"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult(ProtocCompiler.Compile(locations, request.ImportPaths, request.BaseFolder));

    /// <summary>Compiles texts, whose names and content may come from a peer.</summary>
    /// <param name="files">The file that is asked for and those that it imports, by their names.</param>
    /// <exception cref="RpcException">A name leads out of the folder that they are compiled in, or what
    /// protoc finds wrong.</exception>
    public static IReadOnlyList<SchemaPart> Compile(IReadOnlyList<KeyValuePair<string, string>> files)
    {
        using WorkFolder folder = new();
        string first = ProtoFolder.Write(folder.FullName, files)[0];
        return ProtocCompiler.Compile([new SourceFile(first, first)], [folder.FullName], folder.FullName);
    }
}
