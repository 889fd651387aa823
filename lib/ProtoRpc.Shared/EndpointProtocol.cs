namespace ProtoRpc;

/// <summary>The protocols that several kinds of endpoints speak, by the names that texts call them.</summary>
internal static class EndpointProtocol
{
    /// <summary>Connection-oriented DCE/RPC.</summary>
    public const string Native = "native";

    /// <summary>A request and a reply of HTTP, in the format that both sides agree on.</summary>
    public const string Http = "HTTP";

    /// <summary>gRPC on HTTP/2.</summary>
    public const string Grpc = "gRPC";
}
