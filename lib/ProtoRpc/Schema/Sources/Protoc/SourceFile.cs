namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>A schema file to load.</summary>
/// <param name="Given">The path as the user wrote it, for messages.</param>
/// <param name="FullPath">The whole path.</param>
internal sealed record SourceFile(string Given, string FullPath);
