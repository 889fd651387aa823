using Google.Protobuf;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Protocols.Native;

/// <summary>The call context that travels with requests and comes back changed, as a message whose extensions
/// the user's schema declares.</summary>
internal static class SideChannel
{
    private const string TypeName = "google.protobuf.rpc_messages.RpcCallContext";
    private static readonly RpcMessageInfo BareType =
        RpcSchema.FromDescriptors(RpcMessagesReflection.Descriptor).GetMessage(TypeName);

    /// <summary>The message's type in a schema, with the extensions that the schema declares.</summary>
    public static RpcMessageInfo TypeIn(RpcSchema? schema) => schema?.FindMessage(TypeName) ?? BareType;

    /// <summary>Reads a context of the wire.</summary>
    /// <exception cref="RpcException">ResourceExhausted: it has more elements than the limit.</exception>
    public static DynamicMessage ToDynamic(RpcCallContext? context, RpcSchema? schema, int maxElements) =>
        DynamicMessage.Parse(
            TypeIn(schema), context is null ? default(ReadOnlySpan<byte>) : context.ToByteArray(),
            maxElements);

    /// <summary>Makes a context for the wire.</summary>
    public static RpcCallContext ToWire(DynamicMessage context) =>
        RpcCallContext.Parser.ParseFrom(context.ToByteArray());

    /// <summary>The session id that a context names, or null.</summary>
    public static Guid? SessionIdOf(RpcCallContext? context) =>
        context is { HasSessionId: true } && context.SessionId.Length == 16
            ? new Guid(context.SessionId.Span)
            : null;
}
