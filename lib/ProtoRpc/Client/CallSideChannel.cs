using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Client;

/// <summary>The side channel of a call: the client's, or one of the call alone.</summary>
internal static class CallSideChannel
{
    /// <summary>What is sent with the call.</summary>
    public static RpcCallContext Of(IRpcChannel channel, RpcCallOptions? options) =>
        options?.Context ?? channel.Context;

    /// <summary>Keeps what came back with it.</summary>
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
