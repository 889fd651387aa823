using System.Threading.Channels;

namespace ProtoRpc.Load;

/// <summary>Requests that one thread makes while the test runs: of a script, which belongs to the thread of
/// its shell. A bounded number is made ahead.</summary>
internal sealed class QueuedRequests : RpcLoadRequests
{
    private const int MaxQueued = 1000;

    private readonly Channel<LoadRequest> _queue = Channel.CreateUnbounded<LoadRequest>(
        new UnboundedChannelOptions { SingleWriter = true });

    private long _queuedBytes;
    private long _starved;

    /// <summary>Whether the next request may be added: fewer are queued than 1,000 requests and
    /// 64 MiB.</summary>
    public bool WantsMore => _queue.Reader.Count < MaxQueued && Volatile.Read(ref _queuedBytes) < MaxBytes;

    internal override long Starved => Volatile.Read(ref _starved);

    /// <summary>Adds the request of the next call.</summary>
    /// <exception cref="RpcException">InvalidArgument: not a request of the method.</exception>
    public void Add(RpcMethodInfo method, IReadOnlyList<object> messages)
    {
        LoadRequest request = Encode(method, messages);
        Interlocked.Add(ref _queuedBytes, request.Bytes);
        _queue.Writer.TryWrite(request);
    }

    internal override LoadRequest Take(CancellationToken cancellation) =>
        _queue.Reader.TryRead(out LoadRequest? request)
            ? Taken(request)
            : TakeAsync(cancellation).AsTask().GetAwaiter().GetResult();

    internal override async ValueTask<LoadRequest> TakeAsync(CancellationToken cancellation)
    {
        if (!_queue.Reader.TryRead(out LoadRequest? request))
        {
            Interlocked.Increment(ref _starved);
            request = await _queue.Reader.ReadAsync(cancellation).ConfigureAwait(false);
        }

        return Taken(request);
    }

    private LoadRequest Taken(LoadRequest request)
    {
        Interlocked.Add(ref _queuedBytes, -request.Bytes);
        return request;
    }
}
