using System.Diagnostics;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>Ends the process when one input runs for far too long; its file stays.</summary>
internal sealed class Watchdog : IDisposable
{
    private const int HungExitCode = 3;
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private readonly Timer _timer;
    private string _what = "";
    private long _since;

    public Watchdog() => _timer = new Timer(_ => Look(), null, 1000, 1000);

    /// <summary>An input begins to run.</summary>
    /// <param name="what">How to repeat it.</param>
    public void Begin(string what)
    {
        Volatile.Write(ref _what, what);
        Volatile.Write(ref _since, Stopwatch.GetTimestamp());
    }

    public void End() => Volatile.Write(ref _since, 0);

    public void Dispose() => _timer.Dispose();

    private void Look()
    {
        long since = Volatile.Read(ref _since);
        if (since != 0 && Stopwatch.GetElapsedTime(since) > Limit)
        {
            Console.Error.WriteLine(
                $"FAILED an input still runs after {Limit.TotalSeconds} seconds. {Volatile.Read(ref _what)}");
            Environment.Exit(HungExitCode);
        }
    }
}
