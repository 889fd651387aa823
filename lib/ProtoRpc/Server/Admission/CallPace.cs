using System.Diagnostics;

namespace ProtoRpc.Server.Admission;

/// <summary>Measures how fast waiting calls get their turn, over the last one or two seconds with waiting
/// calls.</summary>
/// <remarks>Not thread-safe. Handlers often end together, so only many turns over a time much longer than a
/// handler have a meaningful mean.</remarks>
internal sealed class CallPace
{
    private const int FewestTurns = 16;
    private static readonly long Window = Stopwatch.Frequency;

    private long _begin;
    private long _paused;
    private long _turns;
    private long _timeBefore;
    private long _turnsBefore;

    /// <summary>Records that calls wait again.</summary>
    public void Resume(long now) => _begin += now - _paused;

    /// <summary>Records that no call waits any more. The running measurement continues with the next call
    /// that waits: if a slow pace rejects all calls but the first, no new measurement would ever
    /// end.</summary>
    public void Pause(long now) => _paused = now;

    /// <summary>Records that a waiting call got its turn.</summary>
    public void Count(long now)
    {
        _turns++;
        if (_turns >= FewestTurns && now - _begin >= Window)
        {
            _timeBefore = now - _begin;
            _turnsBefore = _turns;
            _begin = now;
            _turns = 0;
        }
    }

    /// <summary>Estimates the time until a call gets its turn.</summary>
    /// <param name="ahead">The number of calls before it.</param>
    /// <param name="now">The time, as of <see cref="Stopwatch.GetTimestamp"/>.</param>
    /// <returns>Zero if nothing was measured.</returns>
    public TimeSpan Expect(int ahead, long now)
    {
        long turns = _turnsBefore + _turns;
        return turns < FewestTurns
            ? TimeSpan.Zero
            : TimeSpan.FromSeconds(
                (double)ahead * (_timeBefore + now - _begin) / turns / Stopwatch.Frequency);
    }
}
