using System.Diagnostics;

namespace ProtoRpc.Server.Admission;

/// <summary>How fast waiting calls get their turn: measured over the last second or two in which calls
/// waited.</summary>
/// <remarks>Not thread-safe. Handlers often end together, so a few turns say nothing: only many of them, over
/// a time that is long against a handler, have a mean.</remarks>
internal sealed class CallPace
{
    private const int FewestTurns = 16;
    private static readonly long Window = Stopwatch.Frequency;

    private long _begin;
    private long _paused;
    private long _turns;
    private long _timeBefore;
    private long _turnsBefore;

    /// <summary>Marks that calls begin to wait, after none did.</summary>
    public void Resume(long now) => _begin += now - _paused;

    /// <summary>Marks that no call waits any longer. What was measured counts on: a pace that was slow once
    /// would otherwise stay, if all calls but the first are refused because of it.</summary>
    public void Pause(long now) => _paused = now;

    /// <summary>Marks that a waiting call got its turn.</summary>
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

    /// <summary>The time until a call has its turn.</summary>
    /// <param name="ahead">The calls that have their turn before it.</param>
    /// <param name="now">The time, as of <see cref="Stopwatch.GetTimestamp"/>.</param>
    /// <returns>Zero where nothing is known.</returns>
    public TimeSpan Expect(int ahead, long now)
    {
        long turns = _turnsBefore + _turns;
        return turns < FewestTurns
            ? TimeSpan.Zero
            : TimeSpan.FromSeconds(
                (double)ahead * (_timeBefore + now - _begin) / turns / Stopwatch.Frequency);
    }
}
