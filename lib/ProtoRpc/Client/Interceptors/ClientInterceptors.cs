using Google.Protobuf;

namespace ProtoRpc.Client.Interceptors;

/// <summary>The chain of a client's interceptors. The first one is outermost.</summary>
internal sealed class ClientInterceptors
{
    private readonly RpcLimits _limits;
    private readonly RpcEndpoint _endpoint;
    private readonly RpcClientHandler _invoke = static (context, request) => context.Send(context, request);
    private readonly RpcClientStreamHandler _open = static context => context.Open(context);

    private readonly Func<RpcException, RpcMethodInfo, RpcException> _locate;

    private ClientInterceptors(
        RpcEndpoint endpoint, RpcClientOptions options,
        Func<RpcException, RpcMethodInfo, RpcException> locate)
    {
        _locate = locate;
        _endpoint = endpoint;
        _limits = options.Limits;
        foreach (IRpcClientInterceptor interceptor in options.Interceptors.Reverse())
        {
            RpcClientHandler nextInvoke = _invoke;
            RpcClientStreamHandler nextOpen = _open;
            _invoke = (context, request) => interceptor.InvokeAsync(context, request, nextInvoke);
            _open = context => interceptor.OpenAsync(context, nextOpen);
        }
    }

    /// <summary>Creates the chain of a client; null if its options have no interceptors.</summary>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="options">The client's options.</param>
    /// <param name="locate">Adds the endpoint and method to a failure.</param>
    public static ClientInterceptors? Create(
        RpcEndpoint endpoint, RpcClientOptions options,
        Func<RpcException, RpcMethodInfo, RpcException> locate) =>
        options.Interceptors.Count == 0 ? null : new ClientInterceptors(endpoint, options, locate);

    /// <summary>Runs a unary call through the chain.</summary>
    /// <param name="call">The call with the caller's options.</param>
    /// <param name="request">The checked request.</param>
    /// <param name="send">Sends the call on the transport.</param>
    /// <param name="check">Checks a request that an interceptor has changed.</param>
    /// <param name="read">Reads a reply that an interceptor has created.</param>
    /// <param name="cancellation">Cancels the call.</param>
    public async Task<TReply> InvokeAsync<TReply>(
        CallSpec call,
        IMessage request,
        Func<CallSpec, IMessage, Task<TReply>> send,
        Func<RpcMethodInfo, object, IMessage> check,
        ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TReply : class, IMessage
    {
        RpcClientCallContext context = new(call.Method, _endpoint, WithDeadline(call), cancellation)
        {
            Send = async (context, message) => await LocatedAsync(context, spec => send(
                spec, ReferenceEquals(message, request) ? message : check(call.Method, message)))
                .ConfigureAwait(false),
        };
        return ReplyOf(_endpoint, call.Method, await _invoke(context, request).ConfigureAwait(false), read);
    }

    /// <summary>Runs a call whose request is read from a stream through the chain.</summary>
    public async Task<TReply> UploadAsync<TReply>(
        CallSpec call,
        Stream body,
        Func<CallSpec, Task<TReply>> send,
        ReplyReader<TReply> read,
        CancellationToken cancellation)
        where TReply : class, IMessage
    {
        long? start = body.CanSeek ? body.Position : null;
        bool isSent = false;
        RpcClientCallContext context = new(call.Method, _endpoint, call.Options, cancellation)
        {
            Upload = body,
            Send = async (context, _) =>
            {
                Rewind();
                return await LocatedAsync(context, send).ConfigureAwait(false);
            },
        };
        DynamicMessage request = new(call.Method.RequestType);
        return ReplyOf(_endpoint, call.Method, await _invoke(context, request).ConfigureAwait(false), read);

        void Rewind()
        {
            if (isSent)
            {
                body.Position = start ?? throw new RpcException(
                    RpcStatusCode.FailedPrecondition,
                    $"The request of {call.Method.FullName} cannot be sent again by an interceptor: its "
                    + "stream cannot seek.");
            }

            isSent = true;
        }
    }

    /// <summary>Begins a streaming call through the chain.</summary>
    public async Task<RpcClientStream> OpenAsync(
        CallSpec call, Func<CallSpec, RpcClientStream> open, CancellationToken cancellation)
    {
        RpcClientCallContext context = new(call.Method, _endpoint, WithDeadline(call), cancellation)
        {
            Open = context => ValueTask.FromResult(open(Next(context))),
        };
        return await _open(context).ConfigureAwait(false) ?? throw BadAnswer(_endpoint, call.Method, null);
    }

    /// <summary>Blocks until a call has ended. The calling thread, for example that of a user interface, must
    /// not be needed by an interceptor to continue after an await.</summary>
    public static TResult Wait<TResult>(Func<Task<TResult>> call) =>
        SynchronizationContext.Current is null && TaskScheduler.Current == TaskScheduler.Default
            ? call().GetAwaiter().GetResult()
            : Task.Run(call).GetAwaiter().GetResult();

    // One deadline for all calls that an interceptor makes.
    private static RpcCallOptions WithDeadline(CallSpec call)
    {
        RpcCallOptions options = call.Options ?? new RpcCallOptions();
        return call.Clock.IsEndless
            ? options with { Timeout = Timeout.InfiniteTimeSpan, Deadline = null }
            : options with { Timeout = null, Deadline = DateTimeOffset.UtcNow + call.Clock.Left };
    }

    private async Task<TReply> LocatedAsync<TReply>(
        RpcClientCallContext context, Func<CallSpec, Task<TReply>> send)
    {
        try
        {
            return await send(Next(context)).ConfigureAwait(false);
        }
        catch (RpcException e)
        {
            throw _locate(e, context.Method);
        }
    }

    // Clears the headers and trailers of an earlier attempt.
    private CallSpec Next(RpcClientCallContext context)
    {
        context.CancellationToken.ThrowIfCancellationRequested();
        context.Response.Headers = new RpcMetadata();
        context.Response.Trailers = new RpcMetadata();
        return CallSpec.Of(context.Method, context.Options, _limits, _endpoint);
    }

    /// <summary>Converts a reply that may be an interceptor's to the type that the caller requires.</summary>
    /// <exception cref="RpcException">Internal: the message is not of the method's reply type.</exception>
    public static TReply ReplyOf<TReply>(
        RpcEndpoint endpoint, RpcMethodInfo method, IMessage? reply, ReplyReader<TReply> read)
        where TReply : class, IMessage =>
        reply?.Descriptor.FullName != method.ReplyType.FullName ? throw BadAnswer(endpoint, method, reply)
        : reply as TReply ?? read(new ReplyBody(reply.ToByteArray()));

    private static RpcException BadAnswer(RpcEndpoint endpoint, RpcMethodInfo method, IMessage? reply) => new(
        RpcStatusCode.Internal,
        $"An interceptor of the client answered {method.FullName} with "
        + $"{(reply is null ? "nothing" : $"a {reply.Descriptor.FullName}")}. "
        + $"Return a {method.ReplyType.FullName}.")
    {
        Endpoint = endpoint,
    };
}
