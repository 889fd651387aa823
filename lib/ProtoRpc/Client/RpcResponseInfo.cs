using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

/// <summary>The metadata of a call's replies. Filled while the call runs.</summary>
public sealed class RpcResponseInfo
{
    /// <summary>The headers, once they arrive.</summary>
    public RpcMetadata Headers { get; internal set; } = new();

    /// <summary>Called when the headers of a stream have arrived, before its first reply; null for nothing.
    /// Retries can call it again.</summary>
    internal Action? Began { get; set; }

    /// <summary>The trailers, once the call has ended, even with an error.</summary>
    public RpcMetadata Trailers { get; internal set; } = new();

    /// <summary>The extensions of the native protocol's response header that the client's schema declares, as
    /// a <c>google.protobuf.rpc_messages.RpcResponseHeader</c>. Set once the call has ended, even with an
    /// error. Null on HTTP and gRPC endpoints, which have no such header.</summary>
    public DynamicMessage? Extensions { get; internal set; }

    /// <summary>The returned side channel of a call that has its own; null for none.</summary>
    internal RpcCallContext? Context { get; set; }

    /// <summary>The bytes of the sent requests in all attempts, without the transport's overhead.</summary>
    public long BytesSent { get; internal set; }

    /// <summary>The bytes of the received replies, without the transport's overhead.</summary>
    public long BytesReceived { get; internal set; }

    /// <summary>The number of retries.</summary>
    public int Retries { get; internal set; }

    /// <summary>Whether the latest reply was compressed.</summary>
    public bool IsCompressed { get; internal set; }
}
