using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client;

/// <summary>The side channel of a call: the client's, or one for this call only.</summary>
internal static class CallSideChannel
{
    /// <summary>The context to send with the call.</summary>
    public static RpcCallContext Of(IRpcChannel channel, RpcCallOptions? options) =>
        options?.Context ?? channel.Context;

    /// <summary>Stores the context that the reply brought.</summary>
    public static void Keep(IRpcChannel channel, RpcCallOptions? options, RpcCallContext changed)
    {
        if (options is not { Context: not null })
        {
            channel.Context = changed;
        }
        else if (options.Response is { } info)
        {
            info.Context = changed;
        }
    }
}
