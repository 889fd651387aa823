using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Grpc;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Server.Calls;

/// <summary>The life cycle of a call on a server, for every protocol: it begins, is served or fails, is
/// answered, and ends.</summary>
/// <remarks>Derived classes read the call, and write the reply or the failure. No exception of a call
/// escapes, unless the failure itself cannot be written.</remarks>
internal abstract class ServerCall(CallMonitor monitor)
{
    private Activity? _activity;
    private bool _hasStarted;

    /// <summary>Runs the call and sends its reply or failure.</summary>
    public async ValueTask RunAsync()
    {
        RpcStatusCode status = RpcStatusCode.Cancelled;
        long began = monitor.IsTimed ? Stopwatch.GetTimestamp() : 0;
        monitor.Begin();
        try
        {
            status = await ServeAsync().ConfigureAwait(false);
        }
        catch (Exception e)
        {
            await CloseAsync().ConfigureAwait(false);
            if (!IsAbandoned)
            {
                StartUnknown(began);
                SetCurrentActivity();
                status = await FailAsync(e).ConfigureAwait(false);
            }
        }
        finally
        {
            Release();
            monitor.End(status);
            Report(status, began);
        }
    }

    /// <summary>Counts and logs the calls of the server.</summary>
    protected CallMonitor Monitor => monitor;

    /// <summary>Whether the caller no longer waits, so that the transport sends no reply.</summary>
    protected virtual bool IsAbandoned => false;

    /// <summary>Reads the request, runs the handler and writes the reply.</summary>
    /// <returns>The status that the caller receives.</returns>
    protected abstract ValueTask<RpcStatusCode> ServeAsync();

    /// <summary>Answers a call that failed.</summary>
    /// <returns>The status that the caller receives.</returns>
    protected abstract ValueTask<RpcStatusCode> FailAsync(Exception error);

    /// <summary>Ends reads and writes of a handler that has not stopped.</summary>
    protected virtual ValueTask CloseAsync() => default;

    /// <summary>Releases the resources of the call.</summary>
    protected virtual void Release()
    {
    }

    /// <summary>The called method, as far as it is known.</summary>
    protected abstract CallTarget Target { get; }

    /// <summary>The caller.</summary>
    protected abstract PeerIdentity Caller { get; }

    /// <summary>The name that the caller sent, if it differs from the called method; null if it sent
    /// none.</summary>
    protected virtual string? CalledName => null;

    /// <summary>The number of received request bytes.</summary>
    protected abstract long BytesIn { get; }

    /// <summary>The number of sent reply bytes.</summary>
    protected abstract long BytesOut { get; }

    /// <summary>The trace context that the call belongs to; the default for none.</summary>
    protected virtual ActivityContext ReadParent() => default;

    /// <summary>Starts the call's activity, if there is a listener and the target is known.</summary>
    protected void StartActivity()
    {
        _hasStarted = true;
        if (CallTelemetry.IsTraced)
        {
            _activity = CallTelemetry.Start(Target, ReadParent());
        }
    }

    // Starts the activity of a call that failed before its target was known.
    private void StartUnknown(long began)
    {
        if (_hasStarted || began == 0 || !CallTelemetry.IsTraced)
        {
            return;
        }

        TimeSpan time = Stopwatch.GetElapsedTime(began);
        CallTarget target = Target;
        _activity = target.Method == CallTarget.UnknownMethod
            ? CallTelemetry.StartUnknown(target, CalledName, ReadParent())
            : CallTelemetry.Start(target, ReadParent());
        _activity?.SetStartTime(DateTime.UtcNow - time);
    }

    // ServeAsync restores the previous activity when it returns, but the log entry of a failure also belongs
    // to the call.
    private void SetCurrentActivity()
    {
        if (_activity is not null)
        {
            Activity.Current = _activity;
        }
    }

    private void Report(RpcStatusCode status, long began)
    {
        if (_activity is not null)
        {
            CallTelemetry.Stop(_activity, status);
        }

        if (began != 0)
        {
            monitor.Record(
                Target, CalledName, Caller, status, Stopwatch.GetElapsedTime(began), BytesIn, BytesOut,
                _activity);
        }
    }
}

/// <summary>A call of a method: header, request, interceptors and handler, reply.</summary>
internal abstract class MethodServerCall(ServerHost host, RpcEndpoint endpoint, PeerIdentity peer)
    : ServerCall(host.Monitor)
{
    private RequestMemory.Share? _memory;
    private bool _isAdmitted;

    protected ServerHost Host => host;

    /// <summary>The call as its handler sees it; null until its header is read.</summary>
    protected RpcServerCallContext? Context { get; private set; }

    /// <summary>Where the bytes and messages of the call count.</summary>
    protected virtual RequestMemory.Share Memory => _memory ??= new(host.Memory);

    /// <summary>The RPC system, as activities and measurements name it.</summary>
    protected virtual string RpcSystem => "protorpc";

    /// <summary>Reads what comes before the request.</summary>
    protected abstract CallHead ReadHead();

    /// <summary>Reads the only request.</summary>
    protected abstract ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context);

    /// <summary>Writes the only reply, which was checked.</summary>
    protected abstract ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply);

    /// <summary>The streams of a call whose protocol carries them; null for a call with one request and one
    /// reply.</summary>
    protected virtual ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context) => default;

    /// <summary>Ends the replies of a stream that succeeded.</summary>
    protected virtual ValueTask CompleteAsync(RpcServerCallContext context) => default;

    /// <summary>Writes a failure.</summary>
    protected abstract ValueTask FailAsync(CallFailure failure);

    /// <summary>What the protocol's own rules say of a request that they refuse; null for any other
    /// exception.</summary>
    protected virtual CallFailure? RefusalOf(Exception error) => null;

    /// <summary>An exception that the protocol can answer with: the given one, or what is wrong with
    /// it.</summary>
    protected virtual Exception Sendable(Exception error) => error;

    /// <inheritdoc/>
    protected sealed override async ValueTask<RpcStatusCode> ServeAsync()
    {
        CallHead head = ReadHead();
        ServerMethod method = head.Method;
        RpcServerCallContext context = new(
            host, method.Info, endpoint, peer, head.Context, head.Deadline, head.Aborted)
        {
            HeaderSource = head.Headers,
            ReceivedExtensions = head.Extensions,
            Services = head.Services,
            Memory = Memory,
            Call = this,
        };
        Context = context;
        StartActivity();
        if (!method.IsAlwaysAdmitted)
        {
            host.Admission.RequireRoom(context);
        }

        if (await OpenStreamAsync(method, context).ConfigureAwait(false) is { } stream)
        {
            await EnterAsync(method, context).ConfigureAwait(false);
            await host.InvokeAsync(method, context, stream).ConfigureAwait(false);
            Leave();
            await CloseAsync().ConfigureAwait(false);
            await CompleteAsync(context).ConfigureAwait(false);
            return RpcStatusCode.OK;
        }

        // A caller who sends or reads slowly keeps no other from a handler.
        IMessage request = await ReadAsync(method, context).ConfigureAwait(false);
        await EnterAsync(method, context).ConfigureAwait(false);
        IMessage reply = await host.InvokeAsync(method, context, request).ConfigureAwait(false);
        Leave();
        context.RunsHandler = false;
        method.CheckReply(reply, context);
        await ReplyAsync(context, reply).ConfigureAwait(false);
        return RpcStatusCode.OK;
    }

    /// <inheritdoc/>
    protected sealed override async ValueTask<RpcStatusCode> FailAsync(Exception error)
    {
        Leave();
        CallFailure failure = RefusalOf(error) ?? host.Fail(Context, peer, Sendable(error));
        await FailAsync(failure).ConfigureAwait(false);
        return failure.Code;
    }

    /// <inheritdoc/>
    protected sealed override PeerIdentity Caller => peer;

    /// <summary>The method, where the protocol knows it before the head is read; null where it is in the
    /// head.</summary>
    protected virtual ServerMethod? Routed => null;

    /// <inheritdoc/>
    protected sealed override CallTarget Target => new(
        RpcSystem, (Context?.Method ?? Routed?.Info)?.FullName ?? CallTarget.UnknownMethod, endpoint);

    /// <summary>The headers of the caller, also of a call that fails before its handler's context is made;
    /// null where they are not known.</summary>
    protected virtual RpcMetadata? ReadHeaders() => Context?.RequestHeaders;

    /// <inheritdoc/>
    protected override ActivityContext ReadParent()
    {
        try
        {
            return ReadHeaders() is { } headers ? TraceContext.Read(headers) : default;
        }
        catch (RpcException)
        {
            // Headers that cannot be read fail the call only when its handler looks at them.
            return default;
        }
    }

    /// <summary>The connection of a call that shares it with other calls at the same time: its calls wait in
    /// a line of their own. Null where a connection has one call at a time.</summary>
    internal virtual object? SharedConnection => null;

    /// <inheritdoc/>
    protected override void Release()
    {
        Leave();
        Context?.End();
        _memory?.Release();
    }

    private ValueTask EnterAsync(ServerMethod method, RpcServerCallContext context)
    {
        if (method.IsAlwaysAdmitted)
        {
            return default;
        }

        ValueTask entering = host.Admission.EnterAsync(context);
        if (!entering.IsCompletedSuccessfully)
        {
            return WaitAsync(entering);
        }

        _isAdmitted = true;
        return default;
    }

    private async ValueTask WaitAsync(ValueTask entering)
    {
        await entering.ConfigureAwait(false);
        _isAdmitted = true;
    }

    private void Leave()
    {
        if (_isAdmitted)
        {
            _isAdmitted = false;
            host.Admission.Leave();
        }
    }
}

/// <summary>A call whose head and end are the headers of <c>rpc_messages.proto</c>, however they
/// travel.</summary>
internal abstract class HeaderServerCall(ServerHost host, RpcEndpoint endpoint, PeerIdentity peer)
    : MethodServerCall(host, endpoint, peer)
{
    protected RpcLimits Limits { get; } = host.Options.Limits;

    /// <summary>What a request header says.</summary>
    /// <param name="header">The header.</param>
    /// <param name="method">What it calls.</param>
    /// <param name="schema">Where the header's extensions are declared.</param>
    /// <param name="aborted">Cancelled when the caller is gone, or the server stops.</param>
    protected CallHead HeadOf(
        RpcRequestHeader header, ServerMethod method, RpcSchema schema, CancellationToken aborted)
    {
        long start = GC.GetAllocatedBytesForCurrentThread();
        DynamicMessage? extensions = HeaderExtensions.Read(
            header, schema, "request header", RpcStatusCode.InvalidArgument, Limits);
        if (extensions is not null)
        {
            Memory.HoldDecoded(GC.GetAllocatedBytesForCurrentThread() - start);
        }

        return new(method, header.CallContext, DeadlineOf(header), aborted)
        {
            Headers = HeadersOf(header),
            Extensions = extensions,
        };
    }

    /// <summary>When a caller stops waiting who does so in so many milliseconds; null for one who did not
    /// say.</summary>
    protected static DateTimeOffset? DeadlineIn(uint? milliseconds) =>
        milliseconds is { } timeout ? DateTimeOffset.UtcNow.AddMilliseconds(timeout) : null;

    /// <summary>Whether the header of a call that succeeded has nothing but its id: what
    /// <see cref="Success"/> would return is empty.</summary>
    protected static bool SaysNothing(RpcServerCallContext context) =>
        context.SetHeaders is null && context.SetTrailers is null && context.SetExtensions is null
        && context.ChangedContext() is null;

    /// <summary>The header of a call that succeeded.</summary>
    /// <exception cref="RpcException">Internal: what the handler set cannot be sent.</exception>
    protected RpcResponseHeader Success(RpcServerCallContext context)
    {
        RpcResponseHeader response = new();
        if (context.ChangedContext() is { } changed)
        {
            response.CallContext = changed;
        }

        if (NativeMetadata.Write(
            context.SetHeaders, "headers", RpcStatusCode.Internal, Limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.Write(
            context.SetTrailers, "trailers", RpcStatusCode.Internal, Limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.Write(
            response, context.SetExtensions, "response header", RpcStatusCode.Internal, Limits);
        return response;
    }

    /// <summary>The header of a call that failed.</summary>
    protected RpcResponseHeader Failure(CallFailure failure)
    {
        RpcResponseHeader response = new() { Success = false, Exception = failure.ToExceptionInfo() };

        // A session that a failing call got is the caller's all the same.
        if (ContextAfterFailure(Context) is { } changed)
        {
            response.CallContext = changed;
        }

        response.SetExtension(ProtorpcTransportExtensions.StatusCode, (int)failure.Code);
        if (failure.CorrelationId is { } id)
        {
            response.SetExtension(ProtorpcTransportExtensions.CorrelationId, id);
        }

        if (failure.RetryAfter is { } pause)
        {
            response.SetExtension(ProtorpcTransportExtensions.RetryAfterMs, (uint)pause.TotalMilliseconds);
        }

        AddWhatGoesBeside(response, failure, Context);
        return response;
    }

    // An author whose extensions cannot be sent learns it, instead of finding them absent on the client.
    /// <inheritdoc/>
    protected override Exception Sendable(Exception error)
    {
        if (error is not RpcException rpc || !HeaderExtensions.AreSentWith(rpc))
        {
            return error;
        }

        try
        {
            HeaderExtensions.Write(
                new RpcExceptionInfo(), rpc.Extensions, "exception", RpcStatusCode.Internal, Limits);
            return error;
        }
        catch (RpcException e)
        {
            return new RpcException(
                RpcStatusCode.Internal, $"The failure '{rpc.Message}' cannot be sent: {e.Message}", rpc);
        }
    }

    /// <summary>The header that came; null before it is read.</summary>
    protected abstract RpcRequestHeader? Received { get; }

    /// <inheritdoc/>
    protected override RpcMetadata? ReadHeaders() =>
        base.ReadHeaders() ?? (Received is { } header ? HeadersOf(header)?.Invoke() : null);

    private static DateTimeOffset? DeadlineOf(RpcRequestHeader header) => DeadlineIn(
        header.HasExtension(ProtorpcTransportExtensions.TimeoutMs)
            ? header.GetExtension(ProtorpcTransportExtensions.TimeoutMs)
            : null);

    private Func<RpcMetadata>? HeadersOf(RpcRequestHeader header)
    {
        if (header.GetExtension(ProtorpcTransportExtensions.RequestHeaders) is not { } received)
        {
            return null;
        }

        // Read now: what is wrong with them is the caller's fault, and not the handler's who looks.
        RpcMetadata headers =
            NativeMetadata.Read(received, "headers", RpcStatusCode.InvalidArgument, Limits);
        return () => headers;
    }

    // The failure is sent even if its details or extensions cannot be sent.
    private void AddWhatGoesBeside(
        RpcResponseHeader response, CallFailure failure, RpcServerCallContext? context)
    {
        if (GrpcStatusDetails.ToBytes(failure.Code, failure.Text, failure.Details) is { } details
            && details.Length <= Limits.MaxMessageBytes)
        {
            response.SetExtension(ProtorpcTransportExtensions.StatusDetails, ByteString.CopyFrom(details));
        }

        if (NativeMetadata.TryWrite(context?.SetHeaders, Limits) is { } headers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseHeaders, headers);
        }

        if (NativeMetadata.TryWrite(context?.SetTrailers, Limits) is { } trailers)
        {
            response.SetExtension(ProtorpcTransportExtensions.ResponseTrailers, trailers);
        }

        HeaderExtensions.TryWrite(response, context?.SetExtensions, Limits);
        HeaderExtensions.TryWrite(response.Exception, failure.Extensions, Limits);
    }

    private static RpcCallContext? ContextAfterFailure(RpcServerCallContext? context)
    {
        try
        {
            return context?.ChangedContext();
        }
        catch (RpcException)
        {
            // The handler set a context that cannot be written, which may be the failure that is sent.
            return null;
        }
    }
}

/// <summary>The information that a call sends before its request.</summary>
/// <param name="Method">The called method.</param>
/// <param name="Context">The side channel; null if the caller sent none.</param>
/// <param name="Deadline">When the caller stops waiting; null if the caller sent no deadline.</param>
/// <param name="Aborted">Cancelled when the caller cancels or disconnects, or when the server stops.</param>
internal readonly record struct CallHead(
    ServerMethod Method, RpcCallContext? Context, DateTimeOffset? Deadline, CancellationToken Aborted)
{
    /// <summary>Reads the request's headers on demand; null for none.</summary>
    public Func<RpcMetadata>? Headers { get; init; }

    /// <summary>The application's services in the scope of this call; null if there is no such
    /// scope.</summary>
    public IServiceProvider? Services { get; init; }

    /// <summary>The extensions of the native request header; null for none.</summary>
    public DynamicMessage? Extensions { get; init; }
}
