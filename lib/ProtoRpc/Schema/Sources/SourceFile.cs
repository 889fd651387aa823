namespace ProtoRpc.Schema.Sources;

/// <summary>A schema file to load, or another location.</summary>
/// <param name="Given">The path as the user wrote it, for messages.</param>
/// <param name="FullPath">The whole path; a location that is not a file is the same in both.</param>
internal sealed record SourceFile(string Given, string FullPath);
