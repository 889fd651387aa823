using System.Buffers;

namespace ProtoRpc.Transports;

/// <summary>One call of the raw layer on the client: write the request, execute, read the reply, dispose.</summary>
public sealed class NativeExchange : IDisposable
{
    /// <summary>Where the request is written, before <see cref="Execute"/>.</summary>
    public IBufferWriter<byte> Request => throw new NotImplementedException();

    /// <summary>The reply, after <see cref="Execute"/> and until this is disposed.</summary>
    public ReadOnlyMemory<byte> Reply => throw new NotImplementedException();

    /// <summary>Sends the request and blocks for the reply.</summary>
    /// <param name="timeout">How long to wait; InfiniteTimeSpan for ever.</param>
    /// <param name="cancellation">Cancels the call on both sides.</param>
    /// <returns>The interface's return code, 0 for success.</returns>
    /// <exception cref="RpcException">A fault by its status; Unavailable when the connection broke, with
    /// <see cref="RpcException.MayHaveExecuted"/>; DeadlineExceeded; Cancelled.</exception>
    public int Execute(TimeSpan timeout, CancellationToken cancellation = default) => throw new NotImplementedException();

    /// <summary>The same without holding a thread.</summary>
    public ValueTask<int> ExecuteAsync(TimeSpan timeout, CancellationToken cancellation = default) =>
        throw new NotImplementedException();

    /// <summary>Gives the connection back; one whose call did not end is closed.</summary>
    public void Dispose() => throw new NotImplementedException();
}
