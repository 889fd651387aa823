using Google.Protobuf;

namespace ProtoRpc;

/// <summary>How one ping is made.</summary>
public sealed record RpcPingOptions
{
    /// <summary>The full name of the service that the server must have, or the bare one where the schema has
    /// it; null for that of the client's options.</summary>
    public string? Service { get; set; }

    /// <summary>How long the caller waits; null for the limit's call timeout.</summary>
    public TimeSpan? Timeout { get; set; }

    /// <summary>What the server's ping handlers are asked: a
    /// <c>google.protobuf.rpc_messages.RpcPingRequest</c>, dynamic or generated, with extensions. With it, a
    /// ping that the server does not answer fails, also where the server is there.
    /// Null asks nothing.</summary>
    public IMessage? Request { get; set; }
}
