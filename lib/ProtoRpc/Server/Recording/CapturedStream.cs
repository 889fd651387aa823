using Google.Protobuf;

namespace ProtoRpc.Server.Recording;

/// <summary>The stream of a call, with each message seen as it passes.</summary>
internal sealed class CapturedStream(RpcServerStream inner, RpcRecordedCall call)
    : RpcServerStream(inner.Method)
{
    internal override async ValueTask<IMessage?> ReceiveAsync()
    {
        IMessage? request = await inner.ReadAsync().ConfigureAwait(false);
        if (request is not null)
        {
            call.AddRequest(request);
        }

        return request;
    }

    // Before it is sent: a caller that has the reply finds it in the record.
    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        call.AddReply(reply);
        return inner.WriteAsync(reply, compress);
    }
}
