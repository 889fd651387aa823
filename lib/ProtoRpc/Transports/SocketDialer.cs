using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Connects a socket with a blocking call that a timer and a token can end.</summary>
internal static class SocketDialer
{
    // How soon a cancelled token, or the end of the time, is seen while connecting to a Unix socket waits.
    private const int SliceMilliseconds = 50;

    /// <summary>Connects, and disposes the socket when that fails.</summary>
    /// <exception cref="SocketException">The system refused.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled, or the time is over.</exception>
    public static void Connect(
        Socket socket, EndPoint address, TimeSpan timeout, CancellationToken cancellation)
    {
        // ConnectAsync would make the socket non-blocking for good, so the way to end a blocking connect is
        // to dispose the socket.
        using CancellationTokenSource end = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        end.CancelAfter(timeout);
        bool connected = false;
        try
        {
            if (socket.AddressFamily == AddressFamily.Unix)
            {
                ConnectUnix(socket, address, end.Token);
            }
            else
            {
                using (end.Token.UnsafeRegister(static state => ((Socket)state!).Dispose(), socket))
                {
                    socket.Connect(address);
                }
            }

            end.Token.ThrowIfCancellationRequested();
            connected = true;
        }
        catch (Exception e) when (end.IsCancellationRequested && e is not OperationCanceledException)
        {
            throw new OperationCanceledException("Connecting was ended.", e, end.Token);
        }
        finally
        {
            if (!connected)
            {
                socket.Dispose();
            }
        }
    }

    // Linux waits where too many connections wait to be accepted, and disposing the socket does not end that.
    // The timeout for sending does, and it leaves the socket blocking.
    private static void ConnectUnix(Socket socket, EndPoint address, CancellationToken end)
    {
        socket.SendTimeout = SliceMilliseconds;
        while (true)
        {
            end.ThrowIfCancellationRequested();
            try
            {
                socket.Connect(address);
                socket.SendTimeout = 0;
                return;
            }
            catch (SocketException e) when (e.SocketErrorCode == SocketError.WouldBlock)
            {
                // The queue is still full.
            }
        }
    }
}
