using System.Diagnostics;
using System.Runtime.ExceptionServices;
using ProtoRpc.Client;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;
using ProtoRpc.Server;

namespace ProtoRpc.Gateway;

/// <summary>Passes the calls of methods on to another server.</summary>
/// <param name="client">The client of the other server.</param>
/// <param name="options">The options; null for the defaults.</param>
/// <param name="isForAll">Whether it handles several methods, so that a method that the client cannot call is
/// only rejected when it is called.</param>
internal sealed class ForwardingHandler(RpcClient client, RpcGatewayOptions? options, bool isForAll)
    : RpcMethodHandler
{
    private readonly RpcGatewayOptions _options = (options ?? new RpcGatewayOptions()).Copy();
    private readonly HeaderRule _rule = new((options ?? new RpcGatewayOptions()).Copy());

    internal override ServerMethod Bind(RpcMethodInfo method)
    {
        RequireSame(method);
        if (!CanCall(method))
        {
            RpcException refusal = Refusal(method);
            return isForAll
                ? new ServerMethod(method, (RpcServerCallContext _, RpcServerStream _) => throw refusal)
                : throw refusal;
        }

        return new ServerMethod(method, InvokeAsync, StreamAsync) { TakesBytes = true, GivesBytes = true };
    }

    private bool CanCall(RpcMethodInfo method) =>
        (!method.IsClientStreaming || client.Endpoint.Has(EndpointFeatures.RequestStreams))
        && (!method.IsServerStreaming || client.Endpoint.Has(EndpointFeatures.ReplyStreams));

    // A native caller has its own thread, so blocking it is faster than continuing on another thread. The
    // thread of an in-process caller must not block, because the caller may be asynchronous.
    private ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request) =>
        Thread.CurrentThread.IsThreadPoolThread || context.Body is not null || context.Endpoint.IsInProcess
            ? InvokeLaterAsync(context, request)
            : new(Invoke(context, request));

    private IMessage Invoke(RpcServerCallContext context, IMessage request)
    {
        ForwardedCall call = new(context, client, _rule, _options.MaxHops);
        try
        {
            return client.Forward(
                context.Method, Owned(context, request), ReaderOf(context), call.Options,
                context.Clock.Aborted);
        }
        catch (Exception e) when (ForwardedFailure.IsOfClient(e, client))
        {
            throw ForwardedFailure.From(e, client, context.Method);
        }
        finally
        {
            call.Return();
        }
    }

    private async ValueTask<IMessage> InvokeLaterAsync(RpcServerCallContext context, IMessage request)
    {
        ForwardedCall call = new(context, client, _rule, _options.MaxHops);
        CancellationToken end = context.Clock.Aborted;
        try
        {
            return context.Body is { } body && client.Endpoint.Has(EndpointFeatures.Parts)
                ? await client.ForwardAsync(context.Method, body, call.Options, end).ConfigureAwait(false)
                : await client.ForwardAsync(context.Method, Owned(context, request), call.Options, end)
                    .ConfigureAwait(false);
        }
        catch (Exception e) when (ForwardedFailure.IsOfClient(e, client))
        {
            throw ForwardedFailure.From(e, client, context.Method);
        }
        finally
        {
            call.Return();
        }
    }

    private async ValueTask StreamAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        ForwardedCall call = new(context, client, _rule, _options.MaxHops);
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(context.Clock.Aborted);
        ExceptionDispatchInfo? ofCaller;
        try
        {
            await using RpcStreamingCall<object, IMessage> next = await client
                .OpenForwardAsync(context.Method, call.Options, end.Token).ConfigureAwait(false);
            ForwardedStream forwarded = new(stream, next, client, end);
            call.Response.Began = () =>
            {
                call.ReturnHeaders();
                forwarded.Begin();
            };
            ofCaller = await forwarded.RunAsync(call.ReturnHeaders).ConfigureAwait(false);
        }
        catch (Exception e) when (ForwardedFailure.IsOfClient(e, client))
        {
            throw ForwardedFailure.From(e, client, context.Method);
        }
        finally
        {
            call.Return();
        }

        ofCaller?.Throw();
    }

    // A native endpoint writes the reply before the call ends, so the reply does not need memory of its own.
    private ReplyReader<IMessage> ReaderOf(RpcServerCallContext context)
    {
        RpcMessageInfo type = context.Method.ReplyType;
        if (context.Endpoint.Kind.Protocol != EndpointProtocol.Native)
        {
            return body => client.Owned(context.Method, body);
        }

        ForwardedReply reply = new();
        context.Held = reply;
        return body => reply.Keep(type, client.ToBinary(context.Method, body).Span);
    }

    // The request of a native or in-process call is in memory that is reused after the call, but an HTTP
    // client may still write it after the call was abandoned. A request in parts may exceed the limit of this
    // client.
    private IMessage Owned(RpcServerCallContext context, IMessage request)
    {
        if (context.Body is { } body)
        {
            MessageChecks.RequireSize(
                (int)Math.Min(int.MaxValue, body.Length), client.MaxMessageBytes, "request");
            byte[] whole = new byte[body.Length];
            body.ReadExactly(whole);
            return new OpaqueMessage(context.Method.RequestType, whole);
        }

        return request is OpaqueMessage opaque && client.Endpoint.IsGrpc
            && (context.Endpoint.Kind.Protocol == EndpointProtocol.Native || context.Endpoint.IsInProcess)
                ? new OpaqueMessage(opaque.Type, opaque.Bytes.ToArray())
                : request;
    }

    private void RequireSame(RpcMethodInfo method)
    {
        if (client.Schema is not { } schema)
        {
            return;
        }

        // Compared by full name, because each side has its own schema objects.
        RpcMethodInfo theirs = schema.GetMethod(method.FullName);
        if (theirs.RequestType.FullName != method.RequestType.FullName
            || theirs.ReplyType.FullName != method.ReplyType.FullName
            || theirs.IsClientStreaming != method.IsClientStreaming
            || theirs.IsServerStreaming != method.IsServerStreaming)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The schema of the connection to '{client.Endpoint}' declares {method.FullName} with other "
                + "messages or streams. Use one schema for the gateway and the connection.")
            {
                ErrorId = RpcErrorIds.InvalidHandler,
                Endpoint = client.Endpoint,
                MethodName = method.FullName,
            };
        }
    }

    private RpcException Refusal(RpcMethodInfo method) => new(
        RpcStatusCode.Unimplemented,
        $"{method.FullName} has a stream, which the gateway's connection to '{client.Endpoint}' does not "
        + "support. "
        + $"Connect to a {EndpointKinds.SchemesWith(EndpointFeatures.RequestStreams)} "
        + "endpoint of the service.")
    {
        ErrorId = RpcErrorIds.GatewayCannotStream,
        Endpoint = client.Endpoint,
        MethodName = method.FullName,
        IsForwarded = true,
    };
}

/// <summary>The headers, trailers and context of a call through a gateway, in both directions.</summary>
internal readonly struct ForwardedCall
{
    // Timers do not support longer times; this is practically no limit.
    private static readonly TimeSpan LongestWait = TimeSpan.FromDays(30);

    private static readonly RpcCallContext NoContext = new();

    private readonly RpcServerCallContext _context;
    private readonly HeaderRule _rule;
    private readonly Guid _client;

    /// <param name="context">The received call.</param>
    /// <param name="client">The client that forwards the call.</param>
    /// <param name="rule">Which headers pass.</param>
    /// <param name="maxHops">How many gateways a call may pass.</param>
    /// <exception cref="RpcException">FailedPrecondition: the call has passed too many gateways.
    /// PermissionDenied: its session belongs to another caller.</exception>
    public ForwardedCall(RpcServerCallContext context, RpcClient client, HeaderRule rule, int maxHops)
    {
        _context = context;
        _rule = rule;
        _client = client.Key;
        Response = new RpcReplyInfo();
        bool isEndless =
            context.Deadline is not { } deadline || deadline - DateTimeOffset.UtcNow > LongestWait;
        bool isFirstHop = !context.MayHaveHeaders && !client.IsSeen
            && client.Endpoint.Kind.Protocol == EndpointProtocol.Native;
        Options = new RpcCallOptions
        {
            Deadline = isEndless ? null : context.Deadline,
            Timeout = isEndless && context.Deadline is not null ? Timeout.InfiniteTimeSpan : null,
            Headers = isFirstHop ? null : HeadersOf(client, maxHops),
            IsFirstHop = isFirstHop,
            Extensions =
                client.Endpoint.Has(EndpointFeatures.HeaderExtensions) ? context.FoundExtensions : null,
            Context = ContextOf(),
            ReplyInfo = Response,
        };
    }

    /// <summary>The options of the forwarded call.</summary>
    public RpcCallOptions Options { get; }

    /// <summary>The headers and trailers of the reply.</summary>
    public RpcReplyInfo Response { get; }

    private string SessionKey => $"protorpc.gateway.{_client:N}";

    /// <summary>Returns the headers to the caller.</summary>
    public void ReturnHeaders()
    {
        if (Response.Headers.Count > 0)
        {
            _rule.Copy(Response.Headers, _context.ReplyHeaders);
            Response.Headers = new RpcMetadata();
        }
    }

    /// <summary>Returns headers, trailers and context to the caller, also for a failed call.</summary>
    public void Return()
    {
        ReturnHeaders();
        if (Response.Trailers.Count > 0)
        {
            _rule.Copy(Response.Trailers, _context.ReplyTrailers);
        }

        if (Response.Extensions is { } extensions && extensions.CalculateSize() > 0)
        {
            _context.ReplyExtensions = extensions;
        }

        if (Response.Context is { } changed)
        {
            Return(changed);
        }
    }

    private RpcMetadata HeadersOf(RpcClient client, int maxHops)
    {
        RpcMetadata received = _context.RequestHeaders;
        RpcMetadata headers = new();
        int hops = 0;
        if (received.Count > 0)
        {
            hops = HopsOf(received);
            _rule.Copy(received, headers);
            if (Activity.Current is not null)
            {
                // The next call is part of this gateway's activity, which is part of the caller's.
                TraceContext.Remove(headers);
            }
        }

        if (hops >= maxHops)
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The call of {_context.Method.FullName} has passed {hops} gateways and would go on to "
                + $"'{client.Endpoint}'. Check whether gateways forward to each other, or to themselves; "
                + $"{nameof(RpcGatewayOptions)}.{nameof(RpcGatewayOptions.MaxHops)} is the limit.")
            {
                ErrorId = RpcErrorIds.GatewayLoop,
                IsForwarded = true,
            };
        }

        headers.Add(HeaderRule.Hops, (hops + 1).ToString(CultureInfo.InvariantCulture));
        return headers;
    }

    // A value that is not a number was not sent by a gateway.
    private static int HopsOf(RpcMetadata headers) =>
        int.TryParse(
            headers.GetText(HeaderRule.Hops), NumberStyles.None, CultureInfo.InvariantCulture, out int hops)
            ? hops
            : 0;

    // The other server's session is kept in the caller's session here, so that only its caller can use it.
    private RpcCallContext ContextOf()
    {
        if (_context.ReceivedContext is not { } received)
        {
            return NoContext;
        }

        if (!received.HasSessionId)
        {
            return received;
        }

        RpcCallContext sent = received.Clone();
        sent.ClearSessionId();
        if (_context.HasSessions && _context.FindSession()?[SessionKey] is byte[] id)
        {
            sent.SessionId = ByteString.CopyFrom(id);
        }

        return sent;
    }

    private void Return(RpcCallContext changed)
    {
        if (changed.HasSessionId)
        {
            if (_context.HasSessions)
            {
                _context.Session[SessionKey] = changed.SessionId.ToByteArray();
            }

            changed.ClearSessionId();
        }

        _context.CallContext = SideChannel.ToDynamic(
            changed, _context.Method.Service.Schema, _context.Limits.MaxMessageElements);
    }
}

/// <summary>Forwards the messages of a call in both directions at the same time. One message is in transit in
/// each direction, so a side that does not read blocks the other.</summary>
/// <param name="caller">The received call.</param>
/// <param name="next">The call of the other server.</param>
/// <param name="client">The client that forwards the call.</param>
/// <param name="end">Ends the next call.</param>
internal sealed class ForwardedStream(
    RpcServerStream caller, RpcStreamingCall<object, IMessage> next, RpcClient client,
    CancellationTokenSource end)
{
    private volatile ExceptionDispatchInfo? _failure;
    private Task<bool>? _begun;

    /// <summary>Sends only the headers: the caller may wait for them before its next request. Called while
    /// <see cref="RunAsync"/> waits for the first reply.</summary>
    public void Begin() => _begun ??= TryBeginAsync();

    /// <summary>Runs until the other server has ended the call.</summary>
    /// <param name="returnHeaders">Called before each reply is passed on.</param>
    /// <returns>The failure on the caller's side; null for none.</returns>
    /// <exception cref="RpcException">The other server's call failed.</exception>
    public async Task<ExceptionDispatchInfo?> RunAsync(Action returnHeaders)
    {
        // If the other server ends the call before it has received all requests, this task still waits for
        // one. The end of the call also ends the task.
        _ = SendAllAsync();
        try
        {
            while (await next.ReadAsync(CancellationToken.None).ConfigureAwait(false))
            {
                returnHeaders();
                if ((_begun is { } begun && !await begun.ConfigureAwait(false))
                    || !await TryWriteAsync(next.Current).ConfigureAwait(false))
                {
                    break;
                }
            }
        }
        catch (Exception) when (_failure is not null)
        {
            // The failure on the caller's side has ended the call.
        }
        finally
        {
            if (_begun is { } begun)
            {
                await begun.ConfigureAwait(false);
            }
        }

        return _failure;
    }

    private async Task SendAllAsync()
    {
        try
        {
            while (await caller.ReadAsync().ConfigureAwait(false) is { } request)
            {
                if (!await next.SendAsync(client.Passed(request), cancellationToken: CancellationToken.None)
                    .ConfigureAwait(false))
                {
                    return;
                }
            }

            await next.CompleteAsync(CancellationToken.None).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            Fail(e);
        }
    }

    private async Task<bool> TryBeginAsync()
    {
        try
        {
            await caller.BeginAsync().ConfigureAwait(false);
            return true;
        }
        catch (Exception e)
        {
            Fail(e);
            return false;
        }
    }

    private async ValueTask<bool> TryWriteAsync(IMessage reply)
    {
        try
        {
            await caller.WriteAsync(reply).ConfigureAwait(false);
            return true;
        }
        catch (Exception e)
        {
            Fail(e);
            return false;
        }
    }

    private void Fail(Exception error)
    {
        _failure ??= ExceptionDispatchInfo.Capture(error);
        try
        {
            end.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The call ended and disposed its source before the cancellation.
        }
    }
}

/// <summary>Converts failures of forwarded calls for the gateway's caller.</summary>
internal static class ForwardedFailure
{
    /// <summary>Creates the failure for the caller: the other server's error unchanged or, if the server was
    /// not reached, the error with its place.</summary>
    public static RpcException From(Exception error, RpcClient client, RpcMethodInfo method) => error switch
    {
        RpcException { IsAnswer: true } answer => new RpcException(answer.Code, answer.Message, answer)
        {
            IsForwarded = true,
            Endpoint = client.Endpoint,
            MethodName = method.FullName,
            Remote = answer.Remote,
            CorrelationId = answer.CorrelationId,
            FieldPath = answer.FieldPath,
            MayHaveExecuted = answer.MayHaveExecuted,
            RetryAfter = answer.MayHaveExecuted ? null : answer.RetryAfter,
            Details = answer.Details,
            Extensions = answer.Extensions,
        },
        // The gateway's protocol allows headers that the client's protocol cannot send.
        RpcException { ErrorId: RpcErrorIds.InvalidHeader } failure => OnTheWay(
            RpcStatusCode.Internal, failure.Message, failure, client, method, failure.MayHaveExecuted),
        RpcException { ErrorId: not RpcErrorIds.ClientClosed } failure => OnTheWay(
            failure.Code, failure.Message, failure, client, method, failure.MayHaveExecuted),
        _ => OnTheWay(
            RpcStatusCode.Unavailable, "the gateway closed its connection. Start the gateway again.", error,
            client, method, mayHaveExecuted: true),
    };

    /// <summary>Whether a failure is about the gateway's connection to the other server.</summary>
    public static bool IsOfClient(Exception error, RpcClient client) =>
        error is RpcException || (error is ObjectDisposedException && !client.IsOpen);

    private static RpcException OnTheWay(
        RpcStatusCode code, string why, Exception error, RpcClient client, RpcMethodInfo method,
        bool mayHaveExecuted) => new(
        code, $"The gateway got no reply to {method.FullName} from '{client.Endpoint}': {why}", error)
        {
            IsForwarded = true,
            Endpoint = client.Endpoint,
            MethodName = method.FullName,
            MayHaveExecuted = mayHaveExecuted,
            RetryAfter = mayHaveExecuted ? null : (error as RpcException)?.RetryAfter,
        };
}

/// <summary>The reply of another server in pooled memory, until the gateway's call has ended.</summary>
internal sealed class ForwardedReply : IDisposable
{
    private byte[] _bytes = [];

    /// <summary>Copies a reply, which lies in memory of the connection.</summary>
    public IMessage Keep(RpcMessageInfo type, ReadOnlySpan<byte> body)
    {
        Dispose();
        _bytes = ArrayPool<byte>.Shared.Rent(body.Length);
        body.CopyTo(_bytes);
        return new OpaqueMessage(type, _bytes.AsMemory(0, body.Length));
    }

    public void Dispose()
    {
        byte[] bytes = Interlocked.Exchange(ref _bytes, []);
        if (bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }
}
