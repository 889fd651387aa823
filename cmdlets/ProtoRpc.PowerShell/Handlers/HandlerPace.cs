using System.Diagnostics;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Whether a script runs for a short time only, so that it may run on the thread of a
/// connection.</summary>
/// <remarks>Counted without a lock, because a lost count does not matter.</remarks>
internal sealed class HandlerPace
{
    private const int Proven = 32;
    private const int Most = 64;
    private const int Least = -1024;

    // One long run cancels this many short ones.
    private const int OfLongRun = 64;
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(10);

    private int _score;

    /// <summary>Whether enough recent runs were short.</summary>
    public bool IsShort => Volatile.Read(ref _score) >= Proven;

    /// <summary>Counts a run that just ended.</summary>
    /// <param name="start">When it began, by <see cref="Stopwatch.GetTimestamp"/>.</param>
    public void Note(long start) => _score = Stopwatch.GetElapsedTime(start) <= Short
        ? Math.Min(_score + 1, Most)
        : Math.Max(_score - OfLongRun, Least);
}
