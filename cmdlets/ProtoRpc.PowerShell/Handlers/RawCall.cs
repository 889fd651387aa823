using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A raw call, for a handler or a filter.</summary>
/// <param name="context">The context of the call.</param>
/// <param name="request">The request.</param>
/// <param name="script">The handler, or the filter.</param>
/// <param name="next">The next filter or handler; null for a handler.</param>
internal sealed class RawCall(
    RpcRawContext context,
    ReadOnlyMemory<byte> request,
    ScriptSource script,
    RpcRawHandler? next)
    : HandlerCall<ReadOnlyMemory<byte>?>(context, script)
{
    private readonly RpcRawContext _context = context;

    // A copy, because a script that was stopped may still read it after the connection has reused the memory.
    private readonly byte[] _request = request.ToArray();

    /// <inheritdoc/>
    public override ReadOnlyMemory<byte>? Execute(HandlerWorker worker)
    {
        HandlerVariables variables = new(new RpcRawHandlerContext(_context))
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
                RpcStatusCode.Internal,
                $"A filter of interface {_context.InterfaceId} passed on a value that is not bytes: "
                + e.Message,
                e)
            {
                ErrorId = RpcErrorIds.WrongRequest,
            };
        }
    }
}
