using System.Diagnostics;
using System.Net.Sockets;

namespace ProtoRpc.Transports;

/// <summary>Waits a moment for a socket's next bytes by asking again and again, before the thread goes to
/// sleep in a receive: waking it, and a processor that fell asleep with it,
/// takes longer than most calls.</summary>
/// <remarks>Other threads that are ready to run come first. A wait in vain is followed by more and more
/// receives without one, so that a connection that rests costs nothing; at most half of the processors wait
/// like this. Not thread-safe.</remarks>
internal sealed class ReceiveSpin
{
    private const int MaxBackoff = 256;
    private static readonly long Patience = Stopwatch.Frequency / 10_000;

    // A look that takes so long let somebody else run:
    // the processors have enough to do, and none will fall asleep.
    private static readonly long Busy = Stopwatch.Frequency / 100_000;

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
                bool came = Spin(socket);
                Found = came;
                _backoff = came ? 1 : Math.Min(_backoff * 2, MaxBackoff);
                _toSkip = came ? 0 : _backoff;
            }
        }
        finally
        {
            Interlocked.Decrement(ref _spinning);
        }

        return may;
    }

    private static bool Spin(Socket socket)
    {
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
            if (now - before > Busy)
            {
                return false;
            }
        }

        return false;
    }
}
