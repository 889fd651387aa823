using System.Diagnostics;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Waits a moment for a socket's next bytes by asking again and again, before the thread goes to
/// sleep in a receive: waking it, and a processor that fell asleep with it,
/// takes longer than most calls.</summary>
/// <remarks>Other threads that are ready to run come first. A wait in vain is followed by more and more
/// receives without one, so that a connection that rests costs nothing. While other programs keep the
/// processors busy, nearly all receives go without one: a thread that sleeps gets its turn sooner. At most
/// half of the processors wait like this. Not thread-safe.</remarks>
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

    // A peer's turn on this processor is shorter than the whole wait. One look that takes longer gave the
    // processor to somebody who keeps it.
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
