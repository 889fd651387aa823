using Google.Protobuf;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server;

/// <summary>Asks the handlers of pings, and merges what they return
/// with what the server says of itself.</summary>
internal static class PingHandlers
{
    /// <summary>The reply to a ping.</summary>
    /// <exception cref="RpcException">Internal: a handler returned another type. Also any exception that a
    /// handler throws.</exception>
    public static ValueTask<IMessage> ReplyAsync(
        ServerHost host, RpcServerCallContext context, IMessage request) =>
        host.Options.PingHandlers.Count == 0
            ? ValueTask.FromResult<IMessage>(ServerPing.ReplyOf(host))
            : MergeAsync(host, context, request);

    private static async ValueTask<IMessage> MergeAsync(
        ServerHost host, RpcServerCallContext context, IMessage request)
    {
        DynamicMessage merged = new(context.Method.ReplyType);
        bool isWithinHandler = context.RunsHandler;
        context.RunsHandler = true;
        foreach (RpcHandler handler in host.Options.PingHandlers)
        {
            // A handler may have nothing to say.
            if (await handler(context, request).ConfigureAwait(false) is { } reply)
            {
                merged.MergeFrom(Checked(reply).ToByteArray());
            }
        }

        context.RunsHandler = isWithinHandler;
        merged.MergeFrom(ServerPing.ReplyOf(host).ToByteArray());
        return merged;
    }

    private static IMessage Checked(IMessage reply)
    {
        string wanted = PingProtocol.Info.ReplyType.FullName;
        return reply.Descriptor.FullName == wanted ? reply : throw new RpcException(
            RpcStatusCode.Internal,
            $"A ping handler returned a {reply.Descriptor.FullName} and not a {wanted}.");
    }
}
