namespace ProtoRpc.Fuzz.Engine;

/// <summary>Ends the process when one input runs for far too long; its file stays.</summary>
internal sealed class Watchdog : IDisposable
{
    private const int HungExitCode = 3;

    // Seconds in which the process ran: a clock would also count those in which it, or the machine, was
    // suspended.
    private const int Limit = 60;
    private const int Idle = -1;

    private readonly Timer _timer;
    private string _what = "";
    private int _seconds = Idle;

    public Watchdog() => _timer = new Timer(_ => Look(), null, 1000, 1000);

    /// <summary>An input begins to run.</summary>
    /// <param name="what">How to repeat it.</param>
    public void Begin(string what)
    {
        Volatile.Write(ref _what, what);
        Volatile.Write(ref _seconds, 0);
    }

    public void End() => Volatile.Write(ref _seconds, Idle);

    public void Dispose() => _timer.Dispose();

    private void Look()
    {
        int seconds = Volatile.Read(ref _seconds);
        if (seconds != Idle
            && Interlocked.CompareExchange(ref _seconds, seconds + 1, seconds) == seconds && seconds >= Limit)
        {
            Console.Error.WriteLine(
                $"FAILED an input still runs after {Limit} seconds. {Volatile.Read(ref _what)}");
            Environment.Exit(HungExitCode);
        }
    }
}
