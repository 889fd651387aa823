using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>Answers the calls of a method: with code, with given replies, or from another server.</summary>
/// <remarks>Handlers keep no state of calls, and may serve many methods and servers.</remarks>
public abstract class RpcMethodHandler
{
    private protected RpcMethodHandler()
    {
    }

    /// <summary>Creates a handler of methods with one request.</summary>
    public static RpcMethodHandler Of(RpcHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method =>
        {
            MethodTypes.RequireOneRequest(method);
            return new ServerMethod(method, handler);
        });
    }

    /// <summary>Creates a handler of any kind of method. If a direction does not stream, it has one message.
    /// A single reply is sent when the handler has ended.</summary>
    public static RpcMethodHandler OfStreams(RpcStreamHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        return new CodeHandler(method => new ServerMethod(method, handler));
    }

    /// <summary>Creates a handler with generated message types, for methods with one request.</summary>
    public static RpcMethodHandler Of<TRequest, TReply>(
        Func<RpcServerCallContext, TRequest, ValueTask<TReply>> handler)
        where TRequest : class, IMessage<TRequest>, new()
        where TReply : class, IMessage<TReply>, new()
    {
        ArgumentNullException.ThrowIfNull(handler);
        return OfTyped<TRequest, TReply>(
            async (context, request) => await handler(context, (TRequest)request).ConfigureAwait(false));
    }

    /// <summary>Creates a handler with generated message types, for any kind of method. Each yielded reply is
    /// sent immediately. If a direction does not stream, it has one message; the reply of a unary method is
    /// sent when the handler has ended.</summary>
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
    /// order. The replies are converted and checked when a server gets the handler, and then sent as
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
        return new CannedReplies([.. replies], mapper);
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
