using Google.Protobuf;

namespace ProtoRpc;

/// <summary>Wraps every call of a server, for example for authorization, logging and auditing.</summary>
/// <remarks>Also runs for the built-in methods. May run on many threads in parallel.</remarks>
public interface IRpcInterceptor
{
    /// <summary>Sees a call, and passes it on or not.</summary>
    /// <param name="context">Who calls what.</param>
    /// <param name="request">The request, read and checked.</param>
    /// <param name="next">The rest of the chain, with the handler at its end.</param>
    /// <returns>The reply: what <paramref name="next"/> gave,
    /// or another message of the method's reply type.</returns>
    /// <exception cref="RpcException">To refuse the call, with the status that the caller gets.</exception>
    ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next);

    /// <summary>Sees a call of a method that streams, and passes it on or not. Unless it is written
    /// otherwise, this is <see cref="InvokeAsync"/> once for the whole call: with the request of a method
    /// that takes one, else with an empty message; what it returns is the only reply where the call was not
    /// passed on, and is dropped otherwise.</summary>
    /// <param name="context">Who calls what.</param>
    /// <param name="stream">The messages both ways.</param>
    /// <param name="next">The rest of the chain, with the handler at its end.</param>
    /// <exception cref="RpcException">To refuse the call, with the status that the caller gets.</exception>
    async ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(stream);
        bool passedOn = false;
        IMessage reply = await InvokeAsync(
            context, await stream.PeekAsync().ConfigureAwait(false), PassOnAsync).ConfigureAwait(false);
        if (!passedOn)
        {
            await stream.WriteAsync(reply).ConfigureAwait(false);
        }

        async ValueTask<IMessage> PassOnAsync(RpcServerCallContext passed, IMessage request)
        {
            passedOn = true;
            stream.Replace(request);
            await next(passed, stream).ConfigureAwait(false);
            return new DynamicMessage(passed.Method.ReplyType);
        }
    }
}
