using ProtoRpc.Client;

namespace ProtoRpc;

/// <summary>A call whose messages go and come one at a time, without generated classes. A request is a
/// message, or an object or dictionary with its fields. Disposing of the call before its end cancels it on
/// the server.</summary>
/// <remarks>You can send and read in parallel, but not send or read twice at a time.</remarks>
public sealed class RpcStreamingCall : RpcStreamingCall<object, DynamicMessage>
{
    internal RpcStreamingCall(StreamingCallParts<DynamicMessage> parts)
        : base(parts)
    {
    }
}
