using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Protocols;

namespace ProtoRpc.Server;

/// <summary>A call of a method: header, request, interceptors and handler, reply.</summary>
internal abstract class MessageCall(ServerHost host, RpcEndpoint endpoint, PeerIdentity peer)
    : CallLife(host.Monitor)
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

    /// <summary>The streams of a call whose face carries them; null for a call with one request and one
    /// reply.</summary>
    protected virtual ValueTask<RpcServerStream?> OpenStreamAsync(
        ServerMethod method, RpcServerCallContext context) => default;

    /// <summary>Ends the replies of a stream that succeeded.</summary>
    protected virtual ValueTask CompleteAsync(RpcServerCallContext context) => default;

    /// <summary>Writes a failure.</summary>
    protected abstract ValueTask FailAsync(CallFailure failure);

    /// <summary>What the face's own rules say of a request that they refuse; null for any other
    /// exception.</summary>
    protected virtual CallFailure? RefusalOf(Exception error) => null;

    /// <summary>An exception that the face can answer with: the given one, or what is wrong with
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

    /// <summary>The method, where the face knows it before the head is read; null where it is in the
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
