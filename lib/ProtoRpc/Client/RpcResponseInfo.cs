using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>What came beside a call's replies. Filled in while the call runs.</summary>
public sealed class RpcResponseInfo
{
    /// <summary>The headers, once they have come.</summary>
    public RpcMetadata Headers { get; internal set; } = new();

    /// <summary>The trailers, once the call ended, with an error too.</summary>
    public RpcMetadata Trailers { get; internal set; } = new();

    /// <summary>The extensions of the response header of the native protocol that the client's schema
    /// declares, as a <c>google.protobuf.rpc_messages.RpcResponseHeader</c>, once the call ended, with an
    /// error too. Null before, and on HTTP and gRPC endpoints, which have no such header.</summary>
    public DynamicMessage? Extensions { get; internal set; }

    /// <summary>What came back on a side channel of the call alone; null for nothing.</summary>
    internal RpcCallContext? Context { get; set; }

    /// <summary>The bytes of the requests that were sent, of all tries, without what the transport puts
    /// around them.</summary>
    public long BytesSent { get; internal set; }

    /// <summary>The bytes of the replies that came, without what the transport puts around them.</summary>
    public long BytesReceived { get; internal set; }

    /// <summary>How often the call was made again, because the server surely did not take it.</summary>
    public int Retries { get; internal set; }

    /// <summary>Whether the latest reply came compressed.</summary>
    public bool IsCompressed { get; internal set; }
}
