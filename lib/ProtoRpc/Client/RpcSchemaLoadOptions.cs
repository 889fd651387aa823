namespace ProtoRpc;

/// <summary>How <see cref="RpcSchemaLoader"/> reads files and asks servers.</summary>
public sealed record RpcSchemaLoadOptions
{
    /// <summary>Folders in which imports are looked for, in order.</summary>
    public IReadOnlyList<string> ImportPaths { get; init; } = [];

    /// <summary>What relative paths start from; null for the process's current folder.</summary>
    public string? BaseFolder { get; init; }

    /// <summary>How the servers of all addresses are contacted: credentials, certificates, limits. Its
    /// <see cref="RpcClientOptions.Service"/> and <see cref="RpcClientOptions.InterfaceId"/> are not
    /// used.</summary>
    public RpcClientOptions Client { get; init; } = new();
}
