using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>A bound stream socket.</summary>
internal sealed class SocketListener : TransportListener
{
    private readonly Socket _socket;
    private readonly Action<Socket> _close;

    /// <param name="socket">Bound and listening.</param>
    /// <param name="endpoint">The endpoint as bound.</param>
    /// <param name="secondaryAddress">As bind_ack names it.</param>
    /// <param name="close">Closes the socket and what belongs to it.</param>
    public SocketListener(Socket socket, RpcEndpoint endpoint, string secondaryAddress, Action<Socket> close)
    {
        _socket = socket;
        _close = close;
        Endpoint = endpoint;
        SecondaryAddress = secondaryAddress;
    }

    /// <inheritdoc/>
    public override RpcEndpoint Endpoint { get; }

    /// <inheritdoc/>
    public override string SecondaryAddress { get; }

    /// <inheritdoc/>
    public override async ValueTask<TransportConnection> AcceptAsync(CancellationToken cancellation)
    {
        Socket socket = await AcceptSocketAsync(cancellation).ConfigureAwait(false);
        while (!SpareHandles.AreLeftBy(socket))
        {
            socket.Dispose();
            HandleMissing?.Invoke();
            socket = await AcceptSocketAsync(cancellation).ConfigureAwait(false);
        }

        try
        {
            return new SocketConnection(socket);
        }
        catch (SocketException)
        {
            // Its client is gone already.
            socket.Dispose();
            throw;
        }
    }

    private async ValueTask<Socket> AcceptSocketAsync(CancellationToken cancellation)
    {
        try
        {
            return await _socket.AcceptAsync(cancellation).ConfigureAwait(false);
        }
        catch (SocketException e) when (e.SocketErrorCode == SocketError.TooManyOpenSockets)
        {
            HandleMissing?.Invoke();
            throw;
        }
    }

    /// <inheritdoc/>
    public override void Dispose() => _close(_socket);
}
