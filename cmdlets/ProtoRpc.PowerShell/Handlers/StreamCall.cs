using System.Management.Automation;
using Google.Protobuf;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call of a streaming method. The handler reads requests as they arrive, and its output is sent
/// immediately.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="stream">The messages in both directions.</param>
/// <param name="script">The handler.</param>
internal sealed class StreamCall(
    RpcServerCallContext context, RpcServerStream stream, ScriptSource script)
    : HandlerCall<bool>(context, script)
{
    private readonly RpcServerCallContext _context = context;

    /// <inheritdoc/>
    public override bool CanRunHere => false;

    /// <inheritdoc/>
    public override bool Execute(HandlerWorker worker)
    {
        RpcMethodContext shown = MethodCall.ContextOf(worker, _context);
        object request = _context.Method.IsClientStreaming ? Requests(worker)
            : MethodCall.ToShell(Wait(stream.PeekAsync()), worker);
        HandlerVariables variables = new(shown) { Request = request, Method = _context.Method };
        if (_context.Method.IsServerStreaming)
        {
            worker.Invoke(Script, variables, output => Send(shown, output));
        }
        else
        {
            IMessage reply = HandlerReply.Of(_context.Method, worker.Invoke(Script, variables));
            shown.Flush();
            Wait(stream.WriteAsync(reply));
        }

        shown.Flush();
        return true;
    }

    private static T Wait<T>(ValueTask<T> task) =>
        task.IsCompleted ? task.GetAwaiter().GetResult() : task.AsTask().GetAwaiter().GetResult();

    private static void Wait(ValueTask task)
    {
        if (task.IsCompleted)
        {
            task.GetAwaiter().GetResult();
        }
        else
        {
            task.AsTask().GetAwaiter().GetResult();
        }
    }

    // Blocks for each request, because the worker's thread has nothing else to do.
    private IEnumerable<object> Requests(HandlerWorker worker)
    {
        while (Wait(stream.ReadAsync()) is { } request)
        {
            yield return MethodCall.ToShell(request, worker);
        }
    }

    private void Send(RpcMethodContext shown, PSObject output)
    {
        IMessage reply = HandlerReply.Of(_context.Method, output);
        shown.FlushHeaders();
        Wait(stream.WriteAsync(reply));
    }
}
