using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>A connected byte stream. One thread receives and sends at a time, but <see cref="Abort"/> and
/// <see cref="Peek"/> may come from another.</summary>
/// <remarks>A connection is used either with the blocking members or with the asynchronous ones,
/// never with both:
/// a socket that was once used asynchronously is slow for blocking calls ever after.</remarks>
internal abstract class TransportConnection : IDisposable
{
    /// <summary>Where the peer is; null where the transport has no addresses,
    /// or when it left already.</summary>
    public virtual EndPoint? RemoteEndPoint => null;

    /// <summary>Blocks for bytes.</summary>
    /// <returns>0 when the peer closed.</returns>
    public abstract int Receive(Memory<byte> buffer);

    /// <summary>Blocks until all bytes are sent.</summary>
    public abstract void Send(ReadOnlyMemory<byte> bytes);

    /// <summary>Waits for bytes.</summary>
    /// <returns>0 when the peer closed.</returns>
    public abstract ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation);

    /// <summary>Sends all bytes.</summary>
    public abstract ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation);

    /// <summary>Peeks at received bytes without blocking; not during a receive.</summary>
    /// <returns>The octets copied; 0 when the peer closed or the connection broke;
    /// -1 when nothing came.</returns>
    public abstract int Peek(Span<byte> buffer);

    /// <summary>Sends a few bytes if that is possible without blocking;
    /// failures are ignored.</summary>
    public abstract void TrySendNow(ReadOnlySpan<byte> bytes);

    /// <summary>Ends sending; receiving goes on.</summary>
    public abstract void FinishSending();

    /// <summary>Lets the one who receives get 0, now and from now on; later sends work. Not during a
    /// send.</summary>
    public abstract void StopReceiving();

    /// <summary>Ends the connection; running receives and sends return 0 or throw.</summary>
    public abstract void Abort();

    /// <summary>Asks the system who the peer is.</summary>
    public abstract PeerIdentity ReadPeer();

    /// <summary>Requires that the account that runs the server may get tokens and passwords.</summary>
    /// <param name="endpoint">The server's endpoint.</param>
    /// <param name="user">The account that the client names; null for none.</param>
    /// <exception cref="RpcException">PermissionDenied: another account runs the server.</exception>
    public virtual void RequireServer(RpcEndpoint endpoint, string? user)
    {
    }

    /// <inheritdoc/>
    public abstract void Dispose();

    /// <summary>Whether an exception of the members above means no more than a broken connection.</summary>
    public static bool IsBroken(Exception exception) =>
        exception is SocketException or IOException or ObjectDisposedException or OperationCanceledException
            or InvalidOperationException;
}
