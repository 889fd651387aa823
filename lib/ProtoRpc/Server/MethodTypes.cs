using Google.Protobuf;

namespace ProtoRpc.Server;

/// <summary>Checks that a handler fits its method.</summary>
internal static class MethodTypes
{
    /// <summary>Reads requests as a generated type.</summary>
    public static MessageParser ParserOf<TRequest>()
        where TRequest : class, IMessage<TRequest>, new() =>
        // That of the class itself makes messages faster than new() of a type parameter, which is reflection.
        new TRequest().Descriptor.Parser is MessageParser<TRequest> own
            ? own
            : new MessageParser<TRequest>(() => new TRequest());

    /// <exception cref="RpcException">InvalidArgument: the types are not the method's.</exception>
    public static void RequireTypes<TRequest, TReply>(RpcMethodInfo method)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        RequireType<TRequest>(method, "takes", method.RequestType);
        RequireType<TReply>(method, "returns", method.ReplyType);
    }

    /// <exception cref="RpcException">InvalidArgument: the method's requests stream.</exception>
    public static void RequireOneRequest(RpcMethodInfo method)
    {
        if (method.IsClientStreaming)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The requests of {method.FullName} stream; handle it with "
                + $"{nameof(RpcServer.HandleStreaming)}.");
        }
    }

    private static void RequireType<TMessage>(RpcMethodInfo method, string verb, RpcMessageInfo wanted)
        where TMessage : class, IMessage<TMessage>, new()
    {
        string given = new TMessage().Descriptor.FullName;
        if (given != wanted.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, $"{method.FullName} {verb} {wanted.FullName}, not {given}.");
        }
    }
}
