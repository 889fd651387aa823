using System.Diagnostics;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Shows a progress bar for something that is waited for,
/// once that takes longer than a second.</summary>
/// <remarks>Updated by the thread of the cmdlet alone, for only it may write to the host,
/// or that of a job.</remarks>
/// <param name="activity">What is done.</param>
/// <param name="show">Shows a record.</param>
/// <param name="look">Called while it is waited; null for nothing.</param>
internal sealed class WaitProgress(string activity, Action<ProgressRecord> show, Action? look = null)
    : IDisposable
{
    private const int ActivityId = 2;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);

    private readonly long _start = Stopwatch.GetTimestamp();
    private TimeSpan _next = Patience;
    private bool _isShown;

    /// <summary>How long who waits for something else may let this wait.</summary>
    public static TimeSpan Period { get; } = TimeSpan.FromMilliseconds(200);

    /// <summary>Shows how far it is, not too often.</summary>
    /// <param name="status">How far.</param>
    /// <param name="done">How much of it is done; null if unknown.</param>
    /// <param name="total">Of how much.</param>
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

    /// <summary>Takes the bar away.</summary>
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
