using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>Answers the calls of a method: with code, with given replies, or from another server.</summary>
/// <remarks>Handlers keep no state of calls, and may serve many methods and servers.</remarks>
/// <example><code>
/// RpcMethodHandler place = RpcMethodHandler.OfReplies(new { id = "o1" });
/// RpcServer server = RpcServer.Create(schema, "shop.Orders")
///     .Handle("Place", place);
/// </code></example>
public abstract class RpcMethodHandler
{
    private protected RpcMethodHandler()
    {
    }

    /// <summary>Creates a handler without generated message types, for methods with one request: it receives
    /// a <see cref="DynamicMessage"/> and returns a ValueTask with the reply.</summary>
    public static RpcMethodHandler Create(RpcHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method =>
        {
            MethodTypes.RequireOneRequest(method);
            return new ServerMethod(method, handler);
        });
    }

    /// <summary>Creates a streaming handler without generated message types: it reads requests from an <see
    /// cref="RpcServerStream"/> and writes replies to it. If a direction does not stream, it has one message.
    /// A single reply is sent when the handler has ended.</summary>
    public static RpcMethodHandler OfStreams(RpcStreamHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method => new ServerMethod(method, handler));
    }

    /// <summary>Creates a handler with generated message types, for methods with one request: it returns a
    /// ValueTask with the reply.</summary>
    public static RpcMethodHandler Create<TRequest, TReply>(
        Func<RpcServerCallContext, TRequest, ValueTask<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return OfTyped<TRequest, TReply>(
            async (context, request) => await handler(context, (TRequest)request).ConfigureAwait(false));
    }

    /// <summary>Creates a streaming handler with generated message types: it receives and returns an
    /// IAsyncEnumerable. Each yielded reply is sent immediately. If a direction does not stream, it has one
    /// message; the reply of a unary method is sent when the handler has ended.</summary>
    public static RpcMethodHandler OfStreams<TRequest, TReply>(
        Func<RpcServerCallContext, IAsyncEnumerable<TRequest>, IAsyncEnumerable<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method =>
        {
            MethodTypes.RequireTypes<TRequest, TReply>(method);
            return new ServerMethod(method, RunAsync, MethodTypes.ParserOf<TRequest>());
        });

        async ValueTask RunAsync(RpcServerCallContext context, RpcServerStream stream)
        {
            IAsyncEnumerable<TRequest> requests = stream.ReadAllAsync(context.CancellationToken)
                .Select(request => (TRequest)request);
            await foreach (TReply reply in handler(context, requests).ConfigureAwait(false))
            {
                await stream.WriteAsync(reply).ConfigureAwait(false);
            }
        }
    }

    /// <summary>Creates a handler that sends the same replies to every call: one, or those of a stream in
    /// order. The replies are converted and checked when the handler is added to a server, and then sent as
    /// bytes.</summary>
    /// <param name="replies">Messages of the method's reply type, dynamic or generated, or objects or
    /// dictionaries with its fields.</param>
    /// <remarks>For a method with a request stream, the reply is sent after the last request. For a method
    /// that streams both ways, replies are sent immediately.</remarks>
    public static RpcMethodHandler OfReplies(params IEnumerable<object> replies) =>
        OfReplies(replies, new MessageMapper { TakesRows = false });

    /// <summary>Creates a handler that sends the same replies, given as objects of a host.</summary>
    internal static RpcMethodHandler OfReplies(IEnumerable<object> replies, MessageMapper mapper)
    {
        ArgumentNullException.ThrowIfNull(replies);
        return new PreparedReplies([.. replies], mapper);
    }

    /// <summary>Creates a handler with generated message types of a synchronous function.</summary>
    internal static RpcMethodHandler OfTyped<TRequest, TReply>(RpcHandler handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() => new CodeHandler(method =>
        {
            MethodTypes.RequireTypes<TRequest, TReply>(method);
            MethodTypes.RequireOneRequest(method);
            return new ServerMethod(method, handler, MethodTypes.ParserOf<TRequest>());
        });

    /// <summary>Binds the handler to a method.</summary>
    /// <exception cref="RpcException">The handler does not fit the method, and why.</exception>
    internal abstract ServerMethod Bind(RpcMethodInfo method);

    private sealed class CodeHandler(Func<RpcMethodInfo, ServerMethod> bind) : RpcMethodHandler
    {
        internal override ServerMethod Bind(RpcMethodInfo method) => bind(method);
    }
}

/// <summary>Handles the calls of a unary method.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="request">A DynamicMessage, or the generated type that the method was registered with.</param>
/// <returns>A message of the method's reply type, dynamic or generated.</returns>
public delegate ValueTask<IMessage> RpcHandler(RpcServerCallContext context, IMessage request);

/// <summary>Handles the calls of any method: reads requests as they arrive, and writes replies.</summary>
/// <param name="context">The context of the call, with the caller, the method and the deadline.</param>
/// <param name="stream">The messages both ways. The call ends when the handler does.</param>
public delegate ValueTask RpcStreamHandler(RpcServerCallContext context, RpcServerStream stream);

/// <summary>Checks that a handler fits its method.</summary>
internal static class MethodTypes
{
    /// <summary>Reads requests as a generated type.</summary>
    public static MessageParser ParserOf<TRequest>()
        where TRequest : class, IMessage<TRequest>, new() =>
        // The parser of a generated class creates messages without reflection, unlike new() of a type
        // parameter.
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

/// <summary>Answers every call with the same replies, which are encoded once.</summary>
/// <param name="replies">The replies: messages or objects.</param>
/// <param name="mapper">Converts objects to messages.</param>
internal sealed class PreparedReplies(IReadOnlyList<object> replies, MessageMapper mapper) : RpcMethodHandler
{
    internal override ServerMethod Bind(RpcMethodInfo method)
    {
        if (!method.IsServerStreaming && replies.Count != 1)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHandler,
                $"The handler of {method.FullName} has {replies.Count} replies, but the method sends one. "
                + "Give one message.");
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
                IsCanned = true,
            };
    }

    /// <summary>A reply that was checked and encoded.</summary>
    /// <param name="method">The method.</param>
    /// <param name="reply">A message, or a host's object.</param>
    /// <param name="mapper">Makes a message of the object.</param>
    /// <param name="which">The name of the reply, for the error.</param>
    /// <exception cref="RpcException">The reply does not fit the method, and why.</exception>
    public static OpaqueMessage Encode(
        RpcMethodInfo method, object reply, MessageMapper mapper, string which)
    {
        try
        {
            IMessage message = reply as IMessage ?? mapper.ToMessage(method.ReplyType, reply);
            RequireType(method, message);
            MessageChecks.RequireInitialized(message, method.ReplyType);
            using EncodedMessage encoded = EncodedMessage.From(message);
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHandler,
                $"It is a message {message.Descriptor.FullName}, not {method.ReplyType.FullName}.");
        }
    }
}
