using System.Collections.ObjectModel;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A method's call that a handler answers, or that a filter sees on its way there.</summary>
/// <param name="context">Who calls what.</param>
/// <param name="request">The request.</param>
/// <param name="script">The handler, or the filter.</param>
/// <param name="next">What a filter passes the call on to; null for a handler.</param>
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

    /// <summary>What a script sees of a call: the same for a filter and the handler within it, so that each
    /// sees what the other did.</summary>
    public static RpcMethodContext ContextOf(HandlerWorker worker, RpcServerCallContext context) =>
        worker.Shown as RpcMethodContext is { } outer && outer.IsOf(context)
            ? outer
            : new RpcMethodContext(context);

    /// <summary>A message as a worker's scripts see it.</summary>
    public static object ToShell(IMessage message, HandlerWorker worker) => message is DynamicMessage dynamic
        ? ShellMapper.Create(asHashtable: false, isGivenUp: worker.IsStoppedHere).ToObject(dynamic)
        : message;

    // The replies of a method that streams are sent when the handler ends; a filter sees none of them.
    private object? PassOn(object? changed, HandlerWorker worker)
    {
        object reply = PassOnRequest(changed, worker);
        _passedStreamOn = !_context.Method.IsUnary;
        return _passedStreamOn ? null : reply;
    }

    // A handler of this pool runs on this very thread; what else there is may take its time.
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
