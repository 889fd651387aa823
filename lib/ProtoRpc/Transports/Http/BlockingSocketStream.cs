using System.Net.Sockets;

namespace ProtoRpc.Transports.Http;

/// <summary>A connection of HTTP/1.1 whose socket stays blocking as long as only blocking calls use
/// it.</summary>
/// <remarks>The HTTP client begins an asynchronous read on a connection that rests, also between blocking
/// calls, to notice that the server closes it. A thread does this read, because an asynchronous one would
/// make the socket non-blocking for good. The client closes a connection that rests for a minute, so that the
/// thread then ends.</remarks>
internal sealed class BlockingSocketStream(Socket socket) : NetworkStream(socket, ownsSocket: true)
{
    private volatile bool _isBlocking;

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        // On Windows, asynchronous reads leave the socket as it is, and closing it does not end a Poll.
        _isBlocking = !OperatingSystem.IsWindows();
        base.Write(buffer);
    }

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken)
    {
        _isBlocking = false;
        return base.WriteAsync(buffer, cancellationToken);
    }

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken) =>
        _isBlocking
            ? new(Task.Factory.StartNew(
                () => Receive(buffer), cancellationToken, TaskCreationOptions.LongRunning,
                TaskScheduler.Default))
            : base.ReadAsync(buffer, cancellationToken);

    // A read of no bytes waits for the first ones, and leaves them there.
    private int Receive(Memory<byte> buffer)
    {
        if (buffer.IsEmpty)
        {
            Socket.Poll(Timeout.InfiniteTimeSpan, SelectMode.SelectRead);
            return 0;
        }

        return Read(buffer.Span);
    }
}
