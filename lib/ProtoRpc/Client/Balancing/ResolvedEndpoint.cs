namespace ProtoRpc.Client.Balancing;

/// <summary>An endpoint by its address, and the name that the user gave its host,
/// which its certificate has.</summary>
internal sealed record ResolvedEndpoint(RpcEndpoint Endpoint, string Host);
