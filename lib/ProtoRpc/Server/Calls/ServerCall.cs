using System.Diagnostics;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc.Server.Calls;

/// <summary>The steps of a call on a server, for every protocol: read its header, admit it, read its request,
/// run interceptors and handler, write the reply or the failure, and count the call.</summary>
/// <remarks>The state of a call is that of one asynchronous method, so that a call whose handler ends
/// synchronously allocates no object for it.</remarks>
internal static class ServerCall
{
    /// <summary>Runs a call and sends its reply or failure. No exception of the call escapes, unless the
    /// failure itself cannot be written.</summary>
    public static async ValueTask RunAsync(CallProtocol protocol)
    {
        ServerHost host = protocol.Host;
        long began = host.Monitor.Begin();
        RpcStatusCode status = RpcStatusCode.Cancelled;
        RpcServerCallContext? context = null;
        Activity? activity = null;
        CallAdmission? admitted = null;
        string? correlationId = null;
        try
        {
            CallHead head = protocol.ReadHead();
            ServerMethod method = head.Method;
            context = CreateContext(protocol, head);
            if (CallTelemetry.IsTraced)
            {
                activity = CallTelemetry.Start(GetTarget(protocol, context), protocol.ReadParent(context));
            }

            CallAdmission? admission = method.IsAlwaysAdmitted ? null : host.Admission;
            admission?.RequireRoom(context);
            RpcServerStream? stream = await protocol.OpenStreamAsync(method, context).ConfigureAwait(false);

            // The request is read before the call takes a handler's place, so a slow sender does not block
            // other callers.
            IMessage? message = stream is null
                ? await protocol.ReadAsync(method, context).ConfigureAwait(false)
                : null;
            if (admission is not null)
            {
                await admission.EnterAsync(context).ConfigureAwait(false);
                admitted = admission;
            }

            if (stream is null)
            {
                message = await method.InvokeAsync(context, message!).ConfigureAwait(false);
                Leave(ref admitted);
                context.RunsHandler = false;
                method.CheckReply(message, context);
                await protocol.ReplyAsync(context, message).ConfigureAwait(false);
            }
            else
            {
                await method.InvokeAsync(context, stream).ConfigureAwait(false);
                Leave(ref admitted);
                await protocol.CloseAsync().ConfigureAwait(false);
                await protocol.CompleteAsync(context).ConfigureAwait(false);
            }

            status = RpcStatusCode.OK;
        }
        catch (Exception e)
        {
            await protocol.CloseAsync().ConfigureAwait(false);
            Leave(ref admitted);
            if (!protocol.IsAbandoned)
            {
                activity ??= context is null ? StartUnknown(protocol, began) : null;
                CallFailure failure = protocol.Translate(e, context);
                correlationId = failure.CorrelationId;
                await protocol.FailAsync(failure, context).ConfigureAwait(false);
                status = failure.Code;
            }
        }
        finally
        {
            Leave(ref admitted);
            string? called = began != 0 ? protocol.GetCalledName(context) : null;
            protocol.Release();
            context?.End();
            host.Monitor.End(
                GetTarget(protocol, context), called, protocol.Peer, status, began, protocol.BytesIn,
                protocol.BytesOut, activity, correlationId);
        }
    }

    private static RpcServerCallContext CreateContext(CallProtocol protocol, in CallHead head) => new(
        protocol.Host, head.Method.Info, protocol.Endpoint, protocol.Peer, head.Context, head.Deadline,
        head.Aborted)
    {
        HeaderSource = head.Headers,
        ReceivedExtensions = head.Extensions,
        Services = head.Services,
        Memory = protocol.Memory,
        Protocol = protocol,
    };

    private static CallTarget GetTarget(CallProtocol protocol, RpcServerCallContext? context) => new(
        protocol.System, (context?.Method ?? protocol.Routed?.Info)?.FullName ?? CallTarget.UnknownMethod,
        protocol.Endpoint);

    // Starts the activity of a call that failed before its target was known.
    private static Activity? StartUnknown(CallProtocol protocol, long began)
    {
        if (began == 0 || !CallTelemetry.IsTraced)
        {
            return null;
        }

        TimeSpan time = Stopwatch.GetElapsedTime(began);
        CallTarget target = GetTarget(protocol, null);
        ActivityContext parent = protocol.ReadParent(null);
        return (target.Method == CallTarget.UnknownMethod
            ? CallTelemetry.StartUnknown(target, protocol.GetCalledName(null), parent)
            : CallTelemetry.Start(target, parent))?.SetStartTime(DateTime.UtcNow - time);
    }

    private static void Leave(ref CallAdmission? admitted)
    {
        admitted?.Leave();
        admitted = null;
    }
}

/// <summary>How a protocol carries a call: it reads the head and the request, and writes the reply or the
/// failure. <see cref="ServerCall"/> calls its members in this order.</summary>
internal abstract class CallProtocol(ServerHost host, RpcEndpoint endpoint)
{
    private RequestMemory.Share? _memory;

    /// <summary>The server.</summary>
    public ServerHost Host => host;

    /// <summary>The listener's endpoint that received the call.</summary>
    public RpcEndpoint Endpoint => endpoint;

    /// <summary>The caller.</summary>
    public abstract PeerIdentity Peer { get; }

    /// <summary>The RPC system, as activities and measurements name it.</summary>
    public virtual string System => "protorpc";

    /// <summary>The method, if it is known before the header is read; otherwise null.</summary>
    public virtual ServerMethod? Routed => null;

    /// <summary>The connection of a call that shares it with other calls at the same time: its calls wait in
    /// a line of their own. Null if a connection has one call at a time.</summary>
    public virtual object? SharedConnection => null;

    /// <summary>Counts the bytes and messages of the call.</summary>
    public virtual RequestMemory.Share Memory => _memory ??= new(host.Memory);

    /// <summary>The number of received request bytes.</summary>
    public abstract long BytesIn { get; }

    /// <summary>The number of sent reply bytes.</summary>
    public abstract long BytesOut { get; }

    /// <summary>Whether the caller no longer waits, so that no reply is sent.</summary>
    public virtual bool IsAbandoned => false;

    /// <summary>Reads the header of the request.</summary>
    public abstract CallHead ReadHead();

    /// <summary>Reads the trace context that the call belongs to; the default for none.</summary>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    public virtual ActivityContext ReadParent(RpcServerCallContext? context) => default;

    /// <summary>Opens the streams of a call whose protocol carries them; null for a call with one request and
    /// one reply.</summary>
    public virtual ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context) => default;

    /// <summary>Reads the only request.</summary>
    public abstract ValueTask<IMessage> ReadAsync(ServerMethod method, RpcServerCallContext context);

    /// <summary>Writes the only reply, which was checked.</summary>
    public abstract ValueTask ReplyAsync(RpcServerCallContext context, IMessage reply);

    /// <summary>Ends the replies of a stream that succeeded.</summary>
    public virtual ValueTask CompleteAsync(RpcServerCallContext context) => default;

    /// <summary>Ends reads and writes of a handler that has not stopped.</summary>
    public virtual ValueTask CloseAsync() => default;

    /// <summary>Converts an exception to the failure that the caller receives, and logs it.</summary>
    /// <param name="error">The exception.</param>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    public virtual CallFailure Translate(Exception error, RpcServerCallContext? context) =>
        host.Fail(context, Peer, error);

    /// <summary>Writes a failure.</summary>
    /// <param name="failure">The failure.</param>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    public abstract ValueTask FailAsync(CallFailure failure, RpcServerCallContext? context);

    /// <summary>The name that the caller sent, if it differs from the called method; null if it sent
    /// none.</summary>
    /// <param name="context">The call; null if it failed before its context was created.</param>
    public virtual string? GetCalledName(RpcServerCallContext? context) => null;

    /// <summary>Releases the resources of the call.</summary>
    public virtual void Release() => _memory?.Release();
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
