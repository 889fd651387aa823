using Google.Protobuf;

namespace ProtoRpc.Server;

/// <summary>The streams of a call with one request and one reply,
/// for a handler that is written for streams.</summary>
internal sealed class UnaryStream(ServerMethod method, RpcServerCallContext context, IMessage request)
    : RpcServerStream(method)
{
    private IMessage? _request = request;

    /// <summary>What the handler wrote, or null.</summary>
    public IMessage? Reply { get; private set; }

    internal override ValueTask<IMessage?> ReceiveAsync()
    {
        context.CancellationToken.ThrowIfCancellationRequested();
        return ValueTask.FromResult(Interlocked.Exchange(ref _request, null));
    }

    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        context.CancellationToken.ThrowIfCancellationRequested();
        if (!compress)
        {
            context.ResponseCompression = RpcCompression.None;
        }

        Reply = reply;
        context.CheckedReply = reply;
        return default;
    }
}
