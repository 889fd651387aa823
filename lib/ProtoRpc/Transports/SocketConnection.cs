using System.Net;
using System.Net.Sockets;
using ProtoRpc.Security;

namespace ProtoRpc.Transports;

/// <summary>A connection over a stream socket, TCP or Unix domain.</summary>
internal sealed class SocketConnection : TransportConnection
{
    private readonly Socket _socket;
    private readonly ReceiveSpin _spin = new();
    private readonly bool _isUnix;
    private volatile bool _stopped;

    public SocketConnection(Socket socket)
    {
        _socket = socket;
        _isUnix = socket.AddressFamily == AddressFamily.Unix;
        if (socket.ProtocolType == ProtocolType.Tcp)
        {
            socket.NoDelay = true;
        }
    }

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint
    {
        get
        {
            try
            {
                return _socket.RemoteEndPoint;
            }
            catch (Exception e) when (IsBroken(e))
            {
                return null;
            }
        }
    }

    /// <inheritdoc/>
    public override int Receive(Memory<byte> buffer)
    {
        _spin.Wait(_socket);
        if (_isUnix && !_spin.Found)
        {
            // Linux also wakes a thread that sleeps in recv on a Unix socket when the peer has read what was
            // sent to it (unix_write_space). One that sleeps in poll is only woken for what it asks for.
            _socket.Poll(Timeout.InfiniteTimeSpan, SelectMode.SelectRead);
        }

        try
        {
            return _socket.Receive(buffer.Span, SocketFlags.None);
        }
        catch (SocketException) when (_stopped)
        {
            return 0;
        }
    }

    /// <inheritdoc/>
    public override void Send(ReadOnlyMemory<byte> bytes)
    {
        ReadOnlySpan<byte> rest = bytes.Span;
        while (!rest.IsEmpty)
        {
            rest = rest[_socket.Send(rest, SocketFlags.None)..];
        }
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation) =>
        OperatingSystem.IsWindows()
            ? ReceiveUntilStoppedAsync(buffer, cancellation)
            : _socket.ReceiveAsync(buffer, SocketFlags.None, cancellation);

    /// <inheritdoc/>
    public override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        while (!bytes.IsEmpty)
        {
            bytes =
                bytes[await _socket.SendAsync(bytes, SocketFlags.None, cancellation).ConfigureAwait(false)..];
        }
    }

    /// <inheritdoc/>
    public override int Peek(Span<byte> buffer)
    {
        try
        {
            // Asked first, because a blocking socket would block in the peek itself.
            return _socket.Poll(0, SelectMode.SelectRead) ? _socket.Receive(buffer, SocketFlags.Peek) : -1;
        }
        catch (Exception e) when (IsBroken(e))
        {
            return 0;
        }
    }

    /// <inheritdoc/>
    public override void TrySendNow(ReadOnlySpan<byte> bytes)
    {
        try
        {
            if (_socket.Poll(0, SelectMode.SelectWrite))
            {
                _socket.Send(bytes, SocketFlags.None);
            }
        }
        catch (Exception e) when (IsBroken(e))
        {
            // The connection is given up anyway.
        }
    }

    /// <inheritdoc/>
    public override void FinishSending() => ShutDown(SocketShutdown.Send);

    /// <inheritdoc/>
    public override void StopReceiving()
    {
        _stopped = true;
        ShutDown(SocketShutdown.Receive);
    }

    /// <inheritdoc/>
    public override void Abort() => ShutDown(SocketShutdown.Both);

    /// <inheritdoc/>
    public override PeerIdentity ReadPeer() => _socket.AddressFamily == AddressFamily.Unix
        ? UnixPeer.Read(_socket)
        : PeerIdentity.Anonymous(_socket.RemoteEndPoint?.ToString() ?? "");

    /// <inheritdoc/>
    public override void RequireServer(RpcEndpoint endpoint, string? user)
    {
        if (_isUnix)
        {
            LocalServer.Require(endpoint, _socket, user);
        }
    }

    /// <inheritdoc/>
    public override void Dispose() => _socket.Dispose();

    // Windows reports a receive that was stopped as an error; other systems return 0.
    private async ValueTask<int> ReceiveUntilStoppedAsync(
        Memory<byte> buffer, CancellationToken cancellation)
    {
        try
        {
            return await _socket.ReceiveAsync(buffer, SocketFlags.None, cancellation).ConfigureAwait(false);
        }
        catch (SocketException) when (_stopped)
        {
            return 0;
        }
    }

    private void ShutDown(SocketShutdown how)
    {
        try
        {
            _socket.Shutdown(how);
        }
        catch (Exception e) when (IsBroken(e))
        {
            // The peer was first.
        }

        if (OperatingSystem.IsWindows() && how != SocketShutdown.Send)
        {
            WindowsSocket.CancelPending(_socket);
        }
    }
}
