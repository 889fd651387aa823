using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>What answers the calls of a method: code, replies that are given, or another server.</summary>
/// <remarks>Handlers have no state of a call, and may serve many methods and servers.</remarks>
public abstract class RpcMethodHandler
{
    private protected RpcMethodHandler()
    {
    }

    /// <summary>A handler of methods that take one request.</summary>
    public static RpcMethodHandler Of(RpcHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method =>
        {
            MethodTypes.RequireOneRequest(method);
            return new ServerMethod(method, handler);
        });
    }

    /// <summary>A handler of methods of any kind. A method that does not stream has one request and one
    /// reply, which is sent when the handler has ended.</summary>
    public static RpcMethodHandler OfStreams(RpcStreamHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method => new ServerMethod(method, handler));
    }

    /// <summary>A handler with generated message types of methods that take one request.</summary>
    public static RpcMethodHandler Of<TRequest, TReply>(
        Func<RpcServerCallContext, TRequest, ValueTask<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return OfTyped<TRequest, TReply>(
            async (context, request) => await handler(context, (TRequest)request).ConfigureAwait(false));
    }

    /// <summary>A handler with generated message types of methods of any kind:
    /// each yielded reply is sent immediately. A side that does not stream has one message; the reply of a
    /// unary method is sent when the handler has ended.</summary>
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

    /// <summary>A handler that sends the same replies to every call: one, or those of a stream in their
    /// order. They are made and checked when a server gets the handler, and are then sent as bytes.</summary>
    /// <param name="replies">Messages of the method's reply type, dynamic or generated, or objects or
    /// dictionaries with its fields.</param>
    /// <remarks>For a method with a request stream, the reply is sent after the last request. For a method
    /// that streams both ways, replies are sent immediately.</remarks>
    public static RpcMethodHandler OfReplies(params IEnumerable<object> replies) =>
        OfReplies(replies, new MessageMapper { TakesRows = false });

    /// <summary>The same, with replies as a host's objects.</summary>
    internal static RpcMethodHandler OfReplies(IEnumerable<object> replies, MessageMapper mapper)
    {
        ArgumentNullException.ThrowIfNull(replies);
        return new CannedReplies([.. replies], mapper);
    }

    /// <summary>The same of handlers that are no asynchronous functions.</summary>
    internal static RpcMethodHandler OfTyped<TRequest, TReply>(RpcHandler handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new() => new CodeHandler(method =>
        {
            MethodTypes.RequireTypes<TRequest, TReply>(method);
            MethodTypes.RequireOneRequest(method);
            return new ServerMethod(method, handler, MethodTypes.ParserOf<TRequest>());
        });

    /// <summary>The method with this handler, as a server has it.</summary>
    /// <exception cref="RpcException">The handler does not fit the method, and why.</exception>
    internal abstract ServerMethod Bind(RpcMethodInfo method);

    private sealed class CodeHandler(Func<RpcMethodInfo, ServerMethod> bind) : RpcMethodHandler
    {
        internal override ServerMethod Bind(RpcMethodInfo method) => bind(method);
    }
}
