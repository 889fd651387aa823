using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Schema.Sources;

/// <summary>.proto files, which protoc compiles.</summary>
internal sealed class ProtoSource : SchemaSource
{
    public override IReadOnlyList<string> Endings { get; } = [".proto"];

    public override Task<IReadOnlyList<SchemaPart>> ReadAsync(
        IReadOnlyList<SourceFile> locations, SchemaRequest request, CancellationToken cancellation) =>
        Task.FromResult(ProtocCompiler.Compile(locations, request.ImportPaths, request.BaseFolder));
}
