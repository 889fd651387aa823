namespace ProtoRpc;

/// <summary>The options of <see cref="RpcSchemaLoader"/>.</summary>
public sealed record RpcSchemaLoadOptions
{
    /// <summary>The folders to search for imports, in order.</summary>
    public IReadOnlyList<string> ImportPaths { get; init; } = [];

    /// <summary>The base of relative paths; null for the process's current folder.</summary>
    public string? BaseFolder { get; init; }

    /// <summary>The options for connecting to all servers: credentials, certificates, limits. <see
    /// cref="RpcClientOptions.Service"/> and <see cref="RpcClientOptions.InterfaceId"/> are
    /// ignored.</summary>
    public RpcClientOptions Client { get; init; } = new();
}
