using System.Diagnostics;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Shows a progress bar during a wait that takes longer than a second.</summary>
/// <remarks>Update it only on the thread of the cmdlet or of a job, because no other thread may write to the
/// host.</remarks>
/// <param name="activity">The activity that the bar shows.</param>
/// <param name="show">Shows a record.</param>
/// <param name="look">Called on each update; null for nothing.</param>
internal sealed class WaitProgress(string activity, Action<ProgressRecord> show, Action? look = null)
    : IDisposable
{
    private const int ActivityId = 2;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);

    private readonly long _start = Stopwatch.GetTimestamp();
    private TimeSpan _next = Patience;
    private bool _isShown;

    /// <summary>How often to call <see cref="Report"/> during a wait.</summary>
    public static TimeSpan Period { get; } = TimeSpan.FromMilliseconds(200);

    /// <summary>Shows the progress, at most a few times per second.</summary>
    /// <param name="status">Returns the status text.</param>
    /// <param name="done">The completed part of the total; null if unknown.</param>
    /// <param name="total">The total.</param>
    public void Report(Func<string> status, int? done = null, int total = 0)
    {
        look?.Invoke();
        TimeSpan elapsed = Stopwatch.GetElapsedTime(_start);
        if (elapsed < _next)
        {
            return;
        }

        _next = elapsed + Period;
        _isShown = true;
        string text = status();
        show(new ProgressRecord(ActivityId, activity, text.Length > 0 ? text : " ")
        {
            PercentComplete = done is { } count && total > 0 ? (int)(100L * count / total) : -1,
        });
    }

    /// <summary>Removes the bar.</summary>
    public void Dispose()
    {
        if (_isShown)
        {
            _isShown = false;
            show(new ProgressRecord(ActivityId, activity, "Done")
            {
                RecordType = ProgressRecordType.Completed,
            });
        }
    }
}
