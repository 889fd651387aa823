using ProtoRpc.Client;
using ProtoRpc.Transports;

namespace ProtoRpc;

/// <summary>Intercepts every call of a client, on every transport. Use it for tokens, logging, retries or
/// caches.</summary>
/// <remarks>
/// <para>An interceptor runs outside the retries of <see cref="RpcClientOptions.Retry"/> and <see
/// cref="RpcCallOptions.WaitForReady"/>: each call of <c>next</c> is retried as often as they say, and throws
/// only the last failure. An interceptor may call <c>next</c> again, one call after the other. All calls
/// share the deadline.</para>
/// <para>Blocking calls also run through interceptors, and block the caller's thread meanwhile. Pings and
/// requests for the server's schema do not.</para>
/// <para>An interceptor may run on many threads in parallel. Its exceptions are thrown to the caller.</para>
/// </remarks>
/// <example><code>
/// internal sealed class TagInterceptor : IRpcClientInterceptor
/// {
///     public ValueTask&lt;IMessage> InvokeAsync(
///         RpcClientCallContext context, IMessage request, RpcClientHandler next)
///     {
///         context.Headers.Set("x-tenant", "blue");
///         return next(context, request);
///     }
///
///     public ValueTask&lt;RpcClientStream> OpenAsync(
///         RpcClientCallContext context, RpcClientStreamHandler next) => next(context);
/// }
/// </code></example>
public interface IRpcClientInterceptor
{
    /// <summary>Intercepts a unary call. Calls <paramref name="next"/> to send it, or returns its own
    /// reply.</summary>
    /// <param name="context">The context of the call. Its headers may be changed.</param>
    /// <param name="request">The checked request. For <see cref="RpcClient.Upload"/>, an empty message: the
    /// bytes come from <see cref="RpcClientCallContext.Upload"/>.</param>
    /// <param name="next">The next interceptor, or the transport.</param>
    /// <returns>The reply of <paramref name="next"/>, or another message of the method's reply
    /// type.</returns>
    /// <exception cref="RpcException">The call failed; <see cref="RpcException.Trailers"/> contains the
    /// server's trailers.</exception>
    ValueTask<IMessage> InvokeAsync(RpcClientCallContext context, IMessage request, RpcClientHandler next);

    /// <summary>Intercepts a streaming call. Calls <paramref name="next"/> to begin it, or returns its own
    /// stream.</summary>
    /// <param name="context">The context of the call. Its headers may be changed.</param>
    /// <param name="next">The next interceptor, or the transport. Reading the stream reports a failure of the
    /// server.</param>
    /// <returns>The stream of <paramref name="next"/>, a stream that wraps it to see the messages, or another
    /// stream.</returns>
    ValueTask<RpcClientStream> OpenAsync(RpcClientCallContext context, RpcClientStreamHandler next);
}

/// <summary>The context of a call in a client's interceptors.</summary>
/// <example><code>
/// RpcClientCallContext context = new(method, RpcEndpoint.Local("test"));
/// await interceptor.InvokeAsync(
///     context, new PlaceRequest(), (_, _) => new ValueTask&lt;IMessage>(new PlaceReply()));
/// Assert.Equal("blue", context.Headers.GetText("x-tenant"));
/// </code></example>
public sealed class RpcClientCallContext
{
    /// <summary>Creates a context without a transport, for tests of interceptors.</summary>
    /// <param name="method">The method.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="options">The deadline, headers and other options, which are copied; null for the
    /// defaults.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    public RpcClientCallContext(
        RpcMethodInfo method, RpcEndpoint endpoint, RpcCallOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(method);
        ArgumentNullException.ThrowIfNull(endpoint);
        Method = method;
        Endpoint = endpoint;
        CancellationToken = cancellationToken;
        options ??= new RpcCallOptions();
        Options = options with
        {
            Headers = options.Headers?.Copy() ?? new RpcMetadata(),
            ReplyInfo = options.ReplyInfo ?? new RpcReplyInfo(),
        };
    }

    /// <summary>The method.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>The endpoint. If the client has several, the first.</summary>
    public RpcEndpoint Endpoint { get; }

    /// <summary>The headers of the call, without the headers that the client sends with every call. Changes
    /// before <c>next</c> are sent.</summary>
    public RpcMetadata Headers => Options.Headers!;

    /// <summary>When the call must have ended, including all attempts; null for no limit.</summary>
    public DateTimeOffset? Deadline => Options.Deadline;

    /// <summary>A copy of the caller's options. <see cref="RpcCallOptions.Deadline"/> contains the deadline
    /// of the call; for uploads, that of each part. Changes before <c>next</c> apply to the call.</summary>
    public RpcCallOptions Options { get; }

    /// <summary>The headers and trailers of the latest reply; empty before it arrives.</summary>
    public RpcReplyInfo ReplyInfo => Options.ReplyInfo!;

    /// <summary>The stream with the request's bytes for <see cref="RpcClient.Upload"/>; null for other calls.
    /// To call <c>next</c> again, the stream must be seekable.</summary>
    public Stream? Upload { get; internal init; }

    /// <summary>Cancels the call.</summary>
    public CancellationToken CancellationToken { get; }

    internal RpcClientHandler Send { get; init; } = static (context, _) => throw context.NotOfACall();

    internal RpcClientStreamHandler Open { get; init; } = static context => throw context.NotOfACall();

    private InvalidOperationException NotOfACall() => new(
        $"The context of {Method.FullName} does not belong to a call of a client. "
        + "Pass on the context that the interceptor received.");
}

/// <summary>Makes a unary call.</summary>
/// <param name="context">The context that the interceptor received.</param>
/// <param name="request">The request, of the method's request type.</param>
/// <exception cref="RpcException">The call failed.</exception>
public delegate ValueTask<IMessage> RpcClientHandler(RpcClientCallContext context, IMessage request);

/// <summary>A streaming call in a client's interceptors. Derive from this class to see or change the messages
/// of another stream, or to reply without a server.</summary>
/// <remarks>You can send and read in parallel, but only one send and one read at a time.</remarks>
public abstract class RpcClientStream : IAsyncDisposable
{
    /// <summary>The last reply; null before the first.</summary>
    public abstract IMessage? Current { get; }

    /// <summary>Sends a request. Waits while the server does not accept more.</summary>
    /// <param name="request">The request, of the method's request type.</param>
    /// <param name="compress">If false, the request is sent uncompressed, even if the call uses
    /// compression.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the server has already ended the call:
    /// <see cref="ReadAsync"/> returns or throws how it ended.</returns>
    public abstract ValueTask<bool> SendAsync(
        IMessage request, bool compress = true, CancellationToken cancellationToken = default);

    /// <summary>Ends the request stream.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    public abstract ValueTask CompleteAsync(CancellationToken cancellationToken = default);

    /// <summary>Waits for the next reply and stores it in <see cref="Current"/>.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the call has ended successfully.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    public abstract ValueTask<bool> ReadAsync(CancellationToken cancellationToken = default);

    /// <summary>Ends the call. Before its end, this cancels the call on the server.</summary>
    public abstract ValueTask DisposeAsync();
}

/// <summary>Begins a streaming call.</summary>
/// <param name="context">The context that the interceptor received.</param>
/// <exception cref="RpcException">The call cannot begin.</exception>
public delegate ValueTask<RpcClientStream> RpcClientStreamHandler(RpcClientCallContext context);

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
        Func<CallSpec, IMessage, ValueTask<TReply>> send,
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
        Func<CallSpec, ValueTask<TReply>> send,
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

    /// <summary>Runs a call. If it blocks, the calling thread, for example that of a user interface, must not
    /// be needed by an interceptor to continue after an await.</summary>
    public static ValueTask<TResult> RunAsync<TWait, TResult>(Func<Task<TResult>> call)
        where TWait : struct, IWaitMode =>
        !TWait.IsBlocking ? new(call())
        : SynchronizationContext.Current is null && TaskScheduler.Current == TaskScheduler.Default
            ? new(call().GetAwaiter().GetResult())
            : new(Task.Run(call).GetAwaiter().GetResult());

    // One deadline for all calls that an interceptor makes.
    private static RpcCallOptions WithDeadline(CallSpec call)
    {
        RpcCallOptions options = call.Options ?? new RpcCallOptions();
        return call.Clock.IsEndless
            ? options with { Timeout = Timeout.InfiniteTimeSpan, Deadline = null }
            : options with { Timeout = null, Deadline = DateTimeOffset.UtcNow + call.Clock.Left };
    }

    private async Task<TReply> LocatedAsync<TReply>(
        RpcClientCallContext context, Func<CallSpec, ValueTask<TReply>> send)
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
        context.ReplyInfo.Headers = new RpcMetadata();
        context.ReplyInfo.Trailers = new RpcMetadata();
        return CallSpec.Create(context.Method, context.Options, _limits, _endpoint);
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
        + $"{(reply is null ? "nothing" : $"the message {reply.Descriptor.FullName}")}. "
        + $"Return the message {method.ReplyType.FullName}.", endpoint);
}
