namespace ProtoRpc.Protocols.Http;

/// <summary>The headers that client and listener write beside those of HTTP itself.</summary>
internal static class HttpNames
{
    /// <summary>The side channel, a serialized RpcServerCallContext in base64; there and back.</summary>
    public const string CallContext = "Rpc-Call-Context";

    /// <summary>Before the names of trailers that are sent as headers; as in the Connect protocol.</summary>
    public const string TrailerPrefix = "Trailer-";

    /// <summary>Says that a client of streamed replies understands trailers at the end of the body, since
    /// HTTP/1.1 has none behind it.</summary>
    public const string AcceptTrailers = "Rpc-Accept-Trailers";

    /// <summary>How long the client waits, in milliseconds; as in the Connect protocol.</summary>
    public const string Timeout = "Connect-Timeout-Ms";

    /// <summary>Sent by clients of the Connect protocol, who want its errors.</summary>
    public const string ConnectVersion = "Connect-Protocol-Version";

    /// <summary>Says that the server was too busy and rejected the call before it ran, so that it can be sent
    /// again; a header of HTTP and a trailer of gRPC. Its value does not matter.</summary>
    public const string Busy = "protorpc-busy";

    // They say where the body ends and what the connection does; a wrong one breaks it.
    private static readonly HashSet<string> Framing = new(StringComparer.OrdinalIgnoreCase)
    {
        "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer",
            "transfer-encoding",
        "upgrade",
    };

    /// <summary>Whether HTTP itself needs a header, so that no caller can set it.</summary>
    public static bool IsFraming(string name) => Framing.Contains(name);
}
