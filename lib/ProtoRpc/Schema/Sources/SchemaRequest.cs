namespace ProtoRpc.Schema.Sources;

/// <summary>What belongs to all locations of one schema.</summary>
/// <param name="ImportPaths">The folders of imports, in order.</param>
/// <param name="BaseFolder">What relative paths start from.</param>
internal sealed record SchemaRequest(IReadOnlyList<string> ImportPaths, string BaseFolder);
