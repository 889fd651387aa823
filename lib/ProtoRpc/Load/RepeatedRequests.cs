namespace ProtoRpc.Load;

/// <summary>Requests that were made before the test.</summary>
internal sealed class RepeatedRequests(IReadOnlyList<LoadRequest> requests) : RpcLoadRequests
{
    private readonly LoadRequest[] _requests = [.. requests];
    private long _next = -1;

    internal override LoadRequest Take(CancellationToken cancellation) => _requests.Length == 1
        ? _requests[0]
        : _requests[Interlocked.Increment(ref _next) % _requests.Length];

    internal override ValueTask<LoadRequest> TakeAsync(CancellationToken cancellation) =>
        ValueTask.FromResult(Take(cancellation));
}
