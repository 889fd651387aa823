using Google.Protobuf;

namespace ProtoRpc;

/// <summary>A streaming call in a client's interceptors. Derive from this class to see or change the messages
/// of another stream, or to answer without a server.</summary>
/// <remarks>You can send and read in parallel, but only one send and one read at a time.</remarks>
public abstract class RpcClientStream : IAsyncDisposable
{
    /// <summary>The last reply; null before the first.</summary>
    public abstract IMessage? Current { get; }

    /// <summary>Sends a request. Waits while the server does not accept more.</summary>
    /// <param name="request">The request, of the method's request type.</param>
    /// <param name="compress">If false, the request is sent uncompressed, even if the call uses
    /// compression.</param>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the server has already ended the call:
    /// <see cref="ReadAsync"/> returns or throws how it ended.</returns>
    public abstract ValueTask<bool> SendAsync(
        IMessage request, bool compress = true, CancellationToken cancellationToken = default);

    /// <summary>Ends the request stream.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    public abstract ValueTask CompleteAsync(CancellationToken cancellationToken = default);

    /// <summary>Waits for the next reply and stores it in <see cref="Current"/>.</summary>
    /// <param name="cancellationToken">Cancels the call.</param>
    /// <returns>False if the call has ended successfully.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    public abstract ValueTask<bool> ReadAsync(CancellationToken cancellationToken = default);

    /// <summary>Ends the call. Before its end, this cancels the call on the server.</summary>
    public abstract ValueTask DisposeAsync();
}
