namespace ProtoRpc.Transports.Http;

/// <summary>What a server speaks, as <see cref="ProtocolProbe"/> finds it out.</summary>
internal enum SpokenProtocol
{
    /// <summary>None of these, or nothing.</summary>
    Unknown,

    /// <summary>HTTP/1.1 without TLS.</summary>
    Http1,

    /// <summary>HTTP/2 alone, without TLS, as servers of gRPC do.</summary>
    Http2,

    /// <summary>TLS, with whatever is in it.</summary>
    Tls,

    /// <summary>DCE/RPC, the native protocol.</summary>
    Native,
}
