namespace ProtoRpc.PowerShell.Parameters;

/// <summary>An endpoint as a cmdlet is about to use it.</summary>
/// <param name="Endpoint">The endpoint.</param>
/// <param name="Tls">Whether TLS was asked for.</param>
/// <param name="IsRaw">Whether bytes go there and no messages.</param>
internal readonly record struct EndpointUse(RpcEndpoint Endpoint, bool Tls = false, bool IsRaw = false);
