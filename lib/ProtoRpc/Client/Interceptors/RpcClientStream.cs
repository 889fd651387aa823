using Google.Protobuf;

namespace ProtoRpc;

/// <summary>A call whose messages go and come one at a time, as interceptors of clients see it. Derive from
/// it to see or change the messages of another stream, or to answer without a server.</summary>
/// <remarks>You can send and read in parallel, but not send or read twice at a time.</remarks>
public abstract class RpcClientStream : IAsyncDisposable
{
    /// <summary>The reply that was read last; null before the first.</summary>
    public abstract IMessage? Current { get; }

    /// <summary>Sends a request; waits while the server accepts no more.</summary>
    /// <param name="request">The request, of the method's request type.</param>
    /// <param name="compress">False sends it uncompressed where the call's requests are compressed.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the server has already ended the call:
    /// <see cref="ReadAsync"/> returns or throws how it ended.</returns>
    public abstract ValueTask<bool> SendAsync(
        IMessage request, bool compress = true, CancellationToken cancellationToken = default);

    /// <summary>Ends the request stream.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    public abstract ValueTask CompleteAsync(CancellationToken cancellationToken = default);

    /// <summary>Waits for the next reply, which is then <see cref="Current"/>.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False when the call has ended well.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    public abstract ValueTask<bool> ReadAsync(CancellationToken cancellationToken = default);

    /// <summary>Ends the call: before its end, this cancels it on the server.</summary>
    public abstract ValueTask DisposeAsync();
}
