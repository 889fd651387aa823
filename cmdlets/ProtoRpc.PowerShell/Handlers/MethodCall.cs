using System.Collections.ObjectModel;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call of a method, for a handler or a filter.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="request">The request.</param>
/// <param name="script">The handler, or the filter.</param>
/// <param name="next">The next filter or handler; null for a handler.</param>
internal sealed class MethodCall(
    RpcServerCallContext context, IMessage request, ScriptSource script, RpcHandler? next)
    : HandlerCall<IMessage>(context, script)
{
    private readonly RpcServerCallContext _context = context;
    private bool _passedStreamOn;

    /// <inheritdoc/>
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
            : HandlerReply.Of(_context.Method, output);
        shown.Flush();
        return reply;
    }

    /// <summary>The context that scripts see. A filter and the handler share it, so that each sees the
    /// other's changes.</summary>
    public static RpcMethodContext ContextOf(HandlerWorker worker, RpcServerCallContext context) =>
        worker.Shown as RpcMethodContext is { } outer && outer.IsOf(context)
            ? outer
            : new RpcMethodContext(context);

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
