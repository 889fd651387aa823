using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A call of the raw layer that a handler answers, or that a filter sees on its way there.</summary>
/// <param name="context">Who calls.</param>
/// <param name="request">The request.</param>
/// <param name="script">The handler, or the filter.</param>
/// <param name="next">What a filter passes the call on to; null for a handler.</param>
internal sealed class RawCall(
    RpcRawContext context,
    ReadOnlyMemory<byte> request,
    ScriptSource script,
    RpcRawHandler? next)
    : HandlerCall<ReadOnlyMemory<byte>?>(context, script)
{
    private readonly RpcRawContext _context = context;

    // A copy, for a script that was given up may still run when the connection uses the memory again.
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

    // A handler of this pool runs on this very thread; what else there is may take its time.
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
