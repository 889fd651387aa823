namespace ProtoRpc.Load;

/// <summary>Ends the test of one target before its time: after too many failures. Safe for use by many
/// threads.</summary>
/// <param name="maxErrors">Calls that may fail; null to stop when the first calls have all failed.</param>
internal sealed class LoadStop(long? maxErrors)
{
    // As many first failures in a row say that nothing is measured.
    private const int Hopeless = 100;

    private long _failed;
    private string? _reason;
    private volatile bool _isStopped;

    /// <summary>Whether no further call is begun.</summary>
    public bool IsStopped => _isStopped;

    /// <summary>The reason; null if the test was not stopped.</summary>
    public string? Reason => Volatile.Read(ref _reason);

    /// <summary>Ends the test.</summary>
    public void Stop(string? reason = null)
    {
        Interlocked.CompareExchange(ref _reason, reason, null);
        _isStopped = true;
    }

    /// <summary>Counts a failure, and stops where it is one too many. Each caller that fails judges anew, so
    /// that none begins a further call while another one is about to stop the test.</summary>
    public void CountFailure(LoadTally tally)
    {
        long failed = Interlocked.Increment(ref _failed);
        if (failed > maxErrors)
        {
            Stop($"More than {maxErrors:N0} calls failed.");
        }
        else if (maxErrors is null && failed >= Hopeless && !tally.HasSucceeded)
        {
            Stop($"The first {Hopeless} calls all failed.");
        }
    }
}
