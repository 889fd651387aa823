using System.Collections.ObjectModel;
using Google.Protobuf;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>A call of a method, for a handler or a filter.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="request">The request.</param>
/// <param name="script">The handler, or the filter.</param>
/// <param name="next">The next filter or handler; null for a handler.</param>
internal sealed class MethodFilterCall(
    RpcServerCallContext context, IMessage request, ScriptSource script, RpcHandler? next)
    : HandlerCall<IMessage>(context, script)
{
    private readonly RpcServerCallContext _context = context;
    private bool _passedStreamOn;

    public override IMessage Execute(HandlerWorker worker)
    {
        RpcMethodContext shown = ContextOf(worker, _context);
        HandlerVariables variables = new(shown)
        {
            Request = ToShell(request, worker),
            Method = _context.Method,
            Next = next is null ? null : new RpcFilterNext(changed => PassOn(changed, worker)),
        };
        Collection<PSObject> output = worker.Invoke(Script, variables);
        IMessage reply = _passedStreamOn
            ? new DynamicMessage(_context.Method.ReplyType)
            : HandlerReply.ToMessage(_context.Method, output);
        shown.Flush();
        return reply;
    }

    /// <summary>The context that scripts see. A filter and the handler share it, so that each sees the
    /// other's changes.</summary>
    public static RpcMethodContext ContextOf(HandlerWorker worker, RpcServerCallContext context) =>
        worker.Shown as RpcMethodContext is { } outer && outer.IsOf(context)
            ? outer
            : new RpcMethodContext(context, worker.StopListener);

    /// <summary>Converts a message to the object that a worker's scripts see.</summary>
    public static object ToShell(IMessage message, HandlerWorker worker) => message is DynamicMessage dynamic
        ? ShellMapper.Create(asHashtable: false, isGivenUp: worker.IsStoppedHere).ToObject(dynamic)
        : message;

    // A filter does not see the replies of a streaming method: they are sent before the call returns here.
    private object? PassOn(object? changed, HandlerWorker worker)
    {
        object reply = PassOnRequest(changed, worker);
        _passedStreamOn = !_context.Method.IsUnary;
        return _passedStreamOn ? null : reply;
    }

    // A handler of this pool runs on the current thread and is complete here; other handlers may complete
    // later.
    private object PassOnRequest(object? changed, HandlerWorker worker)
    {
        ValueTask<IMessage> reply = next!(_context, changed is null ? request : ToMessage(changed));
        return ToShell(
            reply.IsCompleted
                ? reply.GetAwaiter().GetResult()
                : reply.AsTask().GetAwaiter().GetResult(), worker);
    }

    private IMessage ToMessage(object changed) =>
        (changed is PSObject wrapped ? wrapped.BaseObject : changed) as IMessage
        ?? ShellMapper.Create(asHashtable: false).ToMessage(_context.Method.RequestType, changed);
}

/// <summary>A raw call, for a handler or a filter.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="request">The request.</param>
/// <param name="script">The handler, or the filter.</param>
/// <param name="next">The next filter or handler; null for a handler.</param>
internal sealed class RawFilterCall(
    RpcRawContext context,
    ReadOnlyMemory<byte> request,
    ScriptSource script,
    RpcRawHandler? next)
    : HandlerCall<ReadOnlyMemory<byte>?>(context, script)
{
    private readonly RpcRawContext _context = context;

    // A copy, because a script that was stopped may still read it after the connection has reused the memory.
    private readonly byte[] _request = request.ToArray();

    public override ReadOnlyMemory<byte>? Execute(HandlerWorker worker)
    {
        HandlerVariables variables = new(new RpcRawHandlerContext(_context, worker.StopListener))
        {
            Request = _request,
            Next = next is null ? null : new RpcFilterNext(PassOn),
        };
        return HandlerReply.BytesOf(_context.InterfaceId, worker.Invoke(Script, variables));
    }

    // A handler of this pool runs on the current thread and is complete here; other handlers may complete
    // later.
    private object? PassOn(object? changed)
    {
        byte[] bytes = changed is null ? _request : ToBytes(changed);
        ValueTask<ReadOnlyMemory<byte>?> pending = next!(_context, bytes);
        ReadOnlyMemory<byte>? reply = pending.IsCompleted
            ? pending.GetAwaiter().GetResult()
            : pending.AsTask().GetAwaiter().GetResult();
        return reply?.ToArray();
    }

    private byte[] ToBytes(object changed)
    {
        try
        {
            return LanguagePrimitives.ConvertTo<byte[]>(changed);
        }
        catch (PSInvalidCastException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, RpcErrorIds.WrongRequest,
                $"A filter of interface {_context.InterfaceId} passed on a value that is not bytes: "
                + e.Message, e);
        }
    }
}

/// <summary>The rest of a call, <c>$Next</c> in a filter: the next filter, or the handler.</summary>
public sealed class RpcFilterNext
{
    private readonly Func<object?, object?> _passOn;

    internal RpcFilterNext(Func<object?, object?> passOn) => _passOn = passOn;

    /// <summary>Passes the call on unchanged.</summary>
    /// <returns>The reply: an object, or a byte[] for a raw call. Null for a streaming method, whose replies
    /// have already been sent.</returns>
    public object? Invoke() => _passOn(null);

    /// <summary>Passes the call on with another or a changed request.</summary>
    /// <returns>The reply: an object, or a byte[] for a raw call. Null for a streaming method, whose replies
    /// have already been sent.</returns>
    public object? Invoke(object request) => _passOn(request);
}
