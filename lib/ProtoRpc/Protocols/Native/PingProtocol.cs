using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>The ping that our own servers have on every transport:
/// its method, and how its reply is read.</summary>
internal static class PingProtocol
{
    private static readonly RpcServiceInfo BuiltIn = BuiltInNames.Service;

    /// <summary>The method, which gRPC and HTTP have under its full name.</summary>
    public static RpcMethodInfo Info { get; } = BuiltIn.FindMethod("ping")!;

    /// <summary>The method with its messages as a schema has them:
    /// with the extensions that it declares.</summary>
    public static RpcMethodInfo InfoIn(RpcSchema? schema) =>
        schema?.FindMessage(Info.RequestType.FullName) is { } request
            && schema.FindMessage(Info.ReplyType.FullName) is { } reply
                ? Info.With(request, reply)
                : Info;

    /// <summary>The interface by which native clients that have no schema ping.</summary>
    public static Guid InterfaceId => BuiltIn.InterfaceId;

    /// <summary>A reply, with what the server says of itself if it is one of ours.</summary>
    /// <exception cref="RpcException">Internal: it is no reply to a ping.</exception>
    public static RpcPingResponse Read(ReadOnlySpan<byte> reply)
    {
        try
        {
            return RpcPingResponse.Parser
                .WithExtensionRegistry(NativeHeaders.Extensions)
                .ParseFrom(reply);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The reply to {Info.FullName} cannot be read: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.BadReply,
            };
        }
    }

    /// <summary>What a server said of itself; null when it is not one of ours.</summary>
    public static ServerFacts? FactsOf(RpcPingResponse? reply) =>
        reply?.GetExtension(ProtorpcTransportExtensions.ServerFacts);
}
