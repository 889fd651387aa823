using ProtoRpc.Calls.Raw;

namespace ProtoRpc.PowerShell;

/// <summary>A call of the raw layer.</summary>
internal sealed class RawCall(RpcRawContext context, ReadOnlyMemory<byte> request, ScriptSource script, bool blocking)
    : HandlerCall<ReadOnlyMemory<byte>?>(context, script, blocking)
{
    private readonly RpcRawContext _context = context;

    // A copy, for a script that was given up may still run when the connection uses the memory again.
    private readonly byte[] _request = request.ToArray();

    /// <inheritdoc/>
    public override ReadOnlyMemory<byte>? Execute(HandlerWorker worker) => HandlerReply.BytesOf(
        _context.InterfaceId, worker.Invoke(Script, new(new RpcRawHandlerContext(_context)) { Request = _request }));
}
