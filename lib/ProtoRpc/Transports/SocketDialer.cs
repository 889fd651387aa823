using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Connects a socket with a blocking call that a timer and a token can end.</summary>
internal static class SocketDialer
{
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
            using (end.Token.UnsafeRegister(static state => ((Socket)state!).Dispose(), socket))
            {
                socket.Connect(address);
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
}
