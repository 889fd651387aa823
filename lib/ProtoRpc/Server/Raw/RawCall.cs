using System.Buffers;
using System.Runtime.ExceptionServices;
using ProtoRpc.Server.Admission;
using ProtoRpc.Server.Native;

namespace ProtoRpc.Server.Raw;

/// <summary>A call of the raw layer: bytes in, bytes out, and a return code for what fails.</summary>
internal sealed class RawCall(CallMonitor monitor, Guid interfaceId, RpcRawHandler handler, ExecCall call)
    : CallLife(monitor)
{
    // RPC_S_NOT_LISTENING: there is no handler, or the handler returned null.
    private const int NoReply = 1715;

    // ERROR_ACCESS_DENIED.
    private const int Refused = 5;

    // E_FAIL, what the original server answers when its handler throws.
    private const int HandlerFailed = unchecked((int)0x80004005);

    /// <inheritdoc/>
    protected override CallTarget Target => new("dcerpc", interfaceId.ToString(), call.Endpoint);

    /// <inheritdoc/>
    protected override PeerIdentity Caller => call.Peer;

    /// <inheritdoc/>
    protected override long BytesIn => call.Request.Length;

    /// <inheritdoc/>
    protected override long BytesOut => call.ReplyLength;

    /// <inheritdoc/>
    protected override async ValueTask<RpcStatusCode> ServeAsync()
    {
        StartActivity();
        ReadOnlyMemory<byte>? reply =
            await handler(new RpcRawContext(interfaceId, call), call.Request).ConfigureAwait(false);
        if (reply is not { } bytes)
        {
            call.ReturnCode = NoReply;
            return RpcStatusCode.Unavailable;
        }

        call.Reply.Write(bytes.Span);
        return RpcStatusCode.OK;
    }

    /// <inheritdoc/>
    protected override ValueTask<RpcStatusCode> FailAsync(Exception error)
    {
        if (error is OperationCanceledException)
        {
            // The connection answers it: with a fault where the caller cancelled.
            ExceptionDispatchInfo.Throw(error);
        }

        if (ServerBusy.RetryAfterOf(error) is not null)
        {
            Monitor.CountRefusal();
            call.IsTooBusy = true;
            return new(RpcStatusCode.ResourceExhausted);
        }

        bool isRefusal = error is RpcException
        {
            Code: RpcStatusCode.PermissionDenied or RpcStatusCode.Unauthenticated,
        };
        CallFailure failure = isRefusal
            ? CallFailure.OfRequest(error)
            : CallFailure.OfUnexpected(error);
        Monitor.Log(Target.Method, call.Endpoint, failure);
        call.ReturnCode = isRefusal ? Refused : HandlerFailed;
        return new(failure.Code);
    }
}
