using ProtoRpc.Client;

namespace ProtoRpc;

/// <summary>A streaming call without generated classes. A request is a message, or an object or dictionary
/// with its fields. Disposing the call before its end cancels it on the server.</summary>
/// <remarks>You can send and read in parallel, but only one send and one read at a time.</remarks>
public sealed class RpcStreamingCall : RpcStreamingCall<object, DynamicMessage>
{
    internal RpcStreamingCall(StreamingCallParts<DynamicMessage> parts)
        : base(parts)
    {
    }
}
