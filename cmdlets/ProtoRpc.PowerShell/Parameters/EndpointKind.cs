namespace ProtoRpc.PowerShell;

/// <summary>A kind of endpoint, or of use of one, that a parameter may be meant for.</summary>
/// <param name="Name">As errors call it, in the plural.</param>
/// <param name="Includes">Whether an endpoint is one.</param>
internal sealed record EndpointKind(string Name, Func<EndpointUse, bool> Includes)
{
    public static readonly EndpointKind Native =
        new("native endpoints (tcp://, pipe://, local://)", use => use.Endpoint.IsNative);

    public static readonly EndpointKind NativeWithSchema =
        new("native endpoints with -Schema", use => use.Endpoint.IsNative && !use.IsRaw);

    public static readonly EndpointKind Tcp =
        new("tcp://", use => use.Endpoint.Transport == RpcTransport.Tcp);

    public static readonly EndpointKind TcpWithTls =
        new("tcp:// with -Tls", use => use.Endpoint.Transport == RpcTransport.Tcp && use.Tls);

    public static readonly EndpointKind Http = new(
        "HTTP endpoints (http://, https://)",
        use => use.Endpoint.Transport is RpcTransport.Http or RpcTransport.Https);

    public static readonly EndpointKind Https =
        new("https://", use => use.Endpoint.Transport == RpcTransport.Https);

    public static readonly EndpointKind Grpc = new("gRPC endpoints", use => use.Endpoint.IsGrpc);

    public static readonly EndpointKind Grpcs =
        new("grpcs://", use => use.Endpoint.Transport == RpcTransport.Grpcs);
}
