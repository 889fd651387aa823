using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema.Sources;

/// <summary>Files that were read together, not linked yet: one run of protoc, one descriptor set, what one
/// server sent.</summary>
/// <param name="Files">The files with their imports.</param>
/// <param name="RootFiles">The names of those that were asked for.</param>
/// <param name="Warnings">Warnings; those of protoc as <c>file:line:column: text</c>.</param>
/// <param name="Label">A name for this part among others.</param>
internal sealed record SchemaPart(
    IReadOnlyList<DescriptorFile> Files, IReadOnlyList<string> RootFiles, IReadOnlyList<string> Warnings,
    string Label)
{
    /// <summary>The files of a schema that is linked already.</summary>
    public static SchemaPart Of(RpcSchema schema, string label) => new(
        [.. schema.SchemaFiles.Select(file => new DescriptorFile(file.Bytes, file.Proto, label))],
        schema.RootFiles,
        schema.Warnings,
        label);
}
