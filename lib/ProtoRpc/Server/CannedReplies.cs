using Google.Protobuf;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Server;

/// <summary>Answers every call with the same replies, which are encoded once.</summary>
/// <param name="replies">The replies: messages or objects.</param>
/// <param name="mapper">Converts objects to messages.</param>
internal sealed class CannedReplies(IReadOnlyList<object> replies, MessageMapper mapper) : RpcMethodHandler
{
    /// <inheritdoc/>
    internal override ServerMethod Bind(RpcMethodInfo method)
    {
        if (!method.IsServerStreaming && replies.Count != 1)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The handler of {method.FullName} has {replies.Count} replies, but the method sends one. "
                + "Give one message.")
            {
                ErrorId = RpcErrorIds.InvalidHandler,
            };
        }

        OpaqueMessage[] encoded = [.. replies.Select((reply, index) => Encode(
            method, reply, mapper, replies.Count == 1 ? "The reply" : $"Reply {index + 1}"))];
        return method.IsServerStreaming
            ? new ServerMethod(method, (_, stream) => SendAsync(stream, encoded)) { GivesBytes = true }
            : new ServerMethod(
                method,
                (_, _) => ValueTask.FromResult<IMessage>(encoded[0]),
                (_, stream) => SendAsync(stream, encoded))
            {
                GivesBytes = true,
            };
    }

    /// <summary>A reply that was checked and encoded.</summary>
    /// <param name="method">The method.</param>
    /// <param name="reply">A message, or a host's object.</param>
    /// <param name="mapper">Makes a message of the object.</param>
    /// <param name="which">Which reply it is, for the error.</param>
    /// <exception cref="RpcException">The reply does not fit the method, and why.</exception>
    public static OpaqueMessage Encode(
        RpcMethodInfo method, object reply, MessageMapper mapper, string which)
    {
        try
        {
            IMessage message = reply as IMessage ?? mapper.ToMessage(method.ReplyType, reply);
            RequireType(method, message);
            MessageChecks.RequireInitialized(message, method.ReplyType);
            using EncodedMessage encoded = EncodedMessage.Of(message);
            return new OpaqueMessage(method.ReplyType, encoded.ToArray());
        }
        catch (RpcException e)
        {
            throw new RpcException(e.Code, $"{which} of {method.FullName} cannot be used: {e.Message}", e)
            {
                ErrorId = e.ErrorId,
                FieldPath = e.FieldPath,
                MethodName = method.FullName,
            };
        }
    }

    private static async ValueTask SendAsync(RpcServerStream stream, OpaqueMessage[] replies)
    {
        RpcMethodInfo method = stream.Method.Info;
        if (!method.IsClientStreaming || !method.IsServerStreaming)
        {
            // Reads and checks all requests, so that the caller receives an error for an invalid one.
            while (await stream.ReadAsync().ConfigureAwait(false) is not null)
            {
            }
        }

        foreach (OpaqueMessage reply in replies)
        {
            await stream.WriteAsync(reply).ConfigureAwait(false);
        }
    }

    private static void RequireType(RpcMethodInfo method, IMessage message)
    {
        if (message.Descriptor.FullName != method.ReplyType.FullName)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"It is a {message.Descriptor.FullName}, not a {method.ReplyType.FullName}.")
            {
                ErrorId = RpcErrorIds.InvalidHandler,
            };
        }
    }
}
