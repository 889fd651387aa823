using System.Collections.Concurrent;
using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>The messages of a call without a server;
/// <see cref="RpcTestCall.CreateStream(IEnumerable{IMessage})"/> makes one.</summary>
public sealed class RpcTestStream : RpcServerStream
{
    private readonly IAsyncEnumerator<IMessage> _requests;
    private readonly CancellationToken _cancellation;
    private readonly ConcurrentQueue<IMessage> _replies = new();

    internal RpcTestStream(
        RpcMethodInfo method, IAsyncEnumerable<IMessage> requests, CancellationToken cancellation)
        : base(new ServerMethod(method, static (RpcServerCallContext _, RpcServerStream _) => default))
    {
        _requests = requests.GetAsyncEnumerator(cancellation);
        _cancellation = cancellation;
    }

    /// <summary>What the handler has written, in its order.</summary>
    public IReadOnlyList<IMessage> Replies => [.. _replies];

    internal override async ValueTask<IMessage?> ReceiveAsync()
    {
        _cancellation.ThrowIfCancellationRequested();
        return await _requests.MoveNextAsync().ConfigureAwait(false) ? _requests.Current : null;
    }

    internal override ValueTask SendAsync(IMessage reply, bool compress)
    {
        _cancellation.ThrowIfCancellationRequested();
        _replies.Enqueue(reply);
        return default;
    }
}
