using Google.Protobuf;

namespace ProtoRpc;

/// <summary>The options of a ping.</summary>
public sealed record RpcPingOptions
{
    /// <summary>The full name of the service that the server must serve, or its bare name if the schema
    /// contains it; null for the service of the client's options.</summary>
    public string? Service { get; set; }

    /// <summary>How long the caller waits; null for the limit's call timeout.</summary>
    public TimeSpan? Timeout { get; set; }

    /// <summary>The request for the server's ping handlers, or null: a
    /// <c>google.protobuf.rpc_messages.RpcPingRequest</c>, dynamic or generated, with extensions. With a
    /// request, the ping fails if the server does not support pings, even if it is reachable.</summary>
    public IMessage? Request { get; set; }
}
