using System.Diagnostics;
using System.Management.Automation;

namespace ProtoRpc.PowerShell.Method;

/// <summary>Shows a progress bar for a message that goes in parts,
/// once that takes longer than a second.</summary>
/// <remarks>Use it only on the thread of the cmdlet, which alone may write to the host.</remarks>
internal sealed class TransferProgress(RpcMethodInfo method, Action<ProgressRecord> show)
    : IProgress<RpcProgress>, IDisposable
{
    private const int ActivityId = 1;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan Period = TimeSpan.FromMilliseconds(100);

    private readonly long _start = Stopwatch.GetTimestamp();
    private TimeSpan _next = Patience;

    private string Activity => $"Sending to {method.FullName}";

    private bool IsShown => _next > Patience;

    /// <inheritdoc/>
    public void Report(RpcProgress value)
    {
        TimeSpan elapsed = Stopwatch.GetElapsedTime(_start);
        if (elapsed < _next)
        {
            return;
        }

        _next = elapsed + Period;
        double share = value.TotalBytes == 0 ? 1 : (double)value.SentBytes / value.TotalBytes;
        show(new ProgressRecord(ActivityId, Activity, $"{value.SentBytes:N0} of {value.TotalBytes:N0} bytes")
        {
            PercentComplete = (int)(100 * share),
            SecondsRemaining = share > 0 ? (int)(elapsed.TotalSeconds * (1 - share) / share) : -1,
        });
    }

    /// <summary>Takes the bar away.</summary>
    public void Dispose()
    {
        if (IsShown)
        {
            show(new ProgressRecord(ActivityId, Activity, "Done")
            {
                RecordType = ProgressRecordType.Completed,
            });
        }
    }
}
