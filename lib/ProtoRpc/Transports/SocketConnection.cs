using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
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

    public override int Receive(Memory<byte> buffer)
    {
        _spin.Wait(_socket);
        if (_isUnix && !_spin.Found)
        {
            // Poll before recv: Linux also wakes a thread in recv on a Unix socket when the peer has read
            // sent data (unix_write_space). A thread in poll is only woken for the requested events.
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

    public override void Send(ReadOnlyMemory<byte> bytes)
    {
        ReadOnlySpan<byte> rest = bytes.Span;
        while (!rest.IsEmpty)
        {
            rest = rest[_socket.Send(rest, SocketFlags.None)..];
        }
    }

    public override ValueTask<int> ReceiveAsync(Memory<byte> buffer, CancellationToken cancellation) =>
        OperatingSystem.IsWindows()
            ? ReceiveUntilStoppedAsync(buffer, cancellation)
            : _socket.ReceiveAsync(buffer, SocketFlags.None, cancellation);

    public override async ValueTask SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        while (!bytes.IsEmpty)
        {
            bytes =
                bytes[await _socket.SendAsync(bytes, SocketFlags.None, cancellation).ConfigureAwait(false)..];
        }
    }

    public override int Peek(Span<byte> buffer)
    {
        try
        {
            // Poll first, because the peek would block on a blocking socket.
            return _socket.Poll(0, SelectMode.SelectRead) ? _socket.Receive(buffer, SocketFlags.Peek) : -1;
        }
        catch (Exception e) when (IsBroken(e))
        {
            return 0;
        }
    }

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
            // The connection is closed in any case.
        }
    }

    public override void FinishSending() => ShutDown(SocketShutdown.Send);

    public override void StopReceiving()
    {
        _stopped = true;
        ShutDown(SocketShutdown.Receive);
    }

    public override void Abort() => ShutDown(SocketShutdown.Both);

    public override PeerIdentity ReadPeer() => _socket.AddressFamily == AddressFamily.Unix
        ? UnixPeer.Read(_socket)
        : PeerIdentity.Anonymous(_socket.RemoteEndPoint?.ToString() ?? "");

    public override void RequireServer(RpcEndpoint endpoint, string? user)
    {
        if (_isUnix)
        {
            LocalServer.Require(endpoint, _socket, user);
        }
    }

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
            // The peer has already closed the connection.
        }

        if (OperatingSystem.IsWindows() && how != SocketShutdown.Send)
        {
            WindowsSocket.CancelPending(_socket);
        }
    }
}

/// <summary>Polls a socket repeatedly for its next bytes, before the thread sleeps in a receive. Waking the
/// thread, and a processor that went to sleep with it, takes longer than most calls.</summary>
/// <remarks>Other threads that are ready to run have priority. After polls without data, more and more
/// receives do not poll, so that an idle connection costs nothing. While other programs keep the processors
/// busy, nearly all receives go without one, because a sleeping thread gets its turn sooner. At most half of
/// the processors poll. Not thread-safe.</remarks>
internal sealed class ReceiveSpin
{
    private const int MaxBackoff = 256;
    private static readonly long Patience = Stopwatch.Frequency / 10_000;

    private static readonly int MaxSpinning = Environment.ProcessorCount / 2;
    private static int _spinning;

    private int _backoff = 1;
    private int _toSkip;

    /// <summary>Whether the last wait ended with bytes.</summary>
    public bool Found { get; private set; }

    /// <summary>Waits a moment, or not; the caller then receives in any case.</summary>
    /// <returns>Whether it waited.</returns>
    public bool Wait(Socket socket)
    {
        Found = false;
        if (_toSkip > 0)
        {
            _toSkip--;
            return false;
        }

        bool may = Interlocked.Increment(ref _spinning) <= MaxSpinning;
        try
        {
            if (may)
            {
                bool came = Spin(socket, out bool isCrowded);
                Found = came;
                _backoff = came ? 1 : isCrowded ? MaxBackoff : Math.Min(_backoff * 2, MaxBackoff);
                _toSkip = came ? 0 : _backoff;
            }
        }
        finally
        {
            Interlocked.Decrement(ref _spinning);
        }

        return may;
    }

    // The peer usually runs on this processor for a shorter time than Patience. If one poll takes longer,
    // another thread is using the processor, so spinning would only slow it down.
    private static bool Spin(Socket socket, out bool isCrowded)
    {
        isCrowded = false;
        long now = Stopwatch.GetTimestamp();
        long end = now + Patience;
        while (now < end)
        {
            if (socket.Available > 0)
            {
                return true;
            }

            Thread.Yield();
            long before = now;
            now = Stopwatch.GetTimestamp();
            isCrowded = now - before > Patience;
        }

        return false;
    }
}

/// <summary>Windows functions for sockets that .NET does not expose.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class WindowsSocket
{
    /// <summary>Ends running receives and sends. On Windows, shutting down a socket only rejects later ones,
    /// and a blocked receive would wait for the peer forever.</summary>
    public static void CancelPending(Socket socket)
    {
        try
        {
            // CancelIoEx fails if no operation is running, which does not matter.
            CancelIoEx(socket.SafeHandle, null);
        }
        catch (ObjectDisposedException)
        {
            // Disposing the socket also ended the operations.
        }
    }

    [LibraryImport("kernel32")]
    private static partial int CancelIoEx(SafeHandle handle, void* overlapped);
}

/// <summary>Asks the system who listens at the other end of a Unix socket.</summary>
internal static class LocalServer
{
    /// <summary>Requires an account that may get tokens and passwords.</summary>
    /// <param name="endpoint">The server's endpoint.</param>
    /// <param name="socket">A Unix socket that is connected to the server.</param>
    /// <param name="user">The account that the client names; null for none.</param>
    /// <exception cref="RpcException">PermissionDenied: another account runs the server.</exception>
    public static void Require(RpcEndpoint endpoint, Socket socket, string? user)
    {
        if (OperatingSystem.IsWindows())
        {
            ServerAccount.Require(endpoint, WindowsPeer.ReadServer(socket), user);
        }
        else
        {
            ServerAccount.Require(endpoint, UnixPeer.ReadUserId(socket), user);
        }
    }
}
