using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Methods;

/// <summary>A streaming call in a pipeline: objects of the pipeline are sent as messages when they come in,
/// and replies are written when they arrive.</summary>
/// <remarks>Runs only on the pipeline's thread, which writes replies while it waits for the server.</remarks>
internal sealed class StreamingInvocation : IDisposable
{
    private readonly RpcStreamingCall _call;
    private readonly Action<DynamicMessage> _write;
    private readonly WaitProgress _progress;
    private long _sent;
    private long _received;
    private Task<bool> _next;
    private bool _over;

    /// <param name="call">The call.</param>
    /// <param name="write">Receives the replies.</param>
    /// <param name="progress">Shows the number of messages in both directions; disposed with this.</param>
    public StreamingInvocation(RpcStreamingCall call, Action<DynamicMessage> write, WaitProgress progress)
    {
        _call = call;
        _write = write;
        _progress = progress;
        _next = call.ReadAsync().AsTask();
    }

    /// <summary>How the call ended; Cancelled before its end.</summary>
    public RpcStatusCode Status { get; private set; } = RpcStatusCode.Cancelled;

    /// <summary>Sends a message, and writes the replies that have arrived.</summary>
    /// <returns>False when the server has ended the call.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    public bool Send(IMessage message)
    {
        Task<bool> sending = _call.SendAsync(message).AsTask();
        while (!_over)
        {
            if (_next.IsCompleted)
            {
                TakeReply();
            }
            else if (sending.IsCompleted)
            {
                _sent++;
                ReportProgress();
                return sending.GetAwaiter().GetResult();
            }
            else
            {
                WaitFor(Task.WhenAny(_next, sending));
            }
        }

        return false;
    }

    /// <summary>Ends the request stream,
    /// and writes replies until the call ends.</summary>
    /// <exception cref="RpcException">The call failed.</exception>
    public void Finish()
    {
        _call.CompleteAsync().AsTask().GetAwaiter().GetResult();
        while (!_over)
        {
            WaitFor(_next);
            TakeReply();
        }
    }

    public void Dispose()
    {
        _call.DisposeAsync().AsTask().GetAwaiter().GetResult();
        _progress.Dispose();
    }

    private void WaitFor(Task task)
    {
        while (Task.WaitAny([task], WaitProgress.Period) < 0)
        {
            ReportProgress();
        }
    }

    private void ReportProgress() => _progress.Report(() => $"{_sent:N0} sent, {_received:N0} received");

    private bool HasReply()
    {
        try
        {
            bool hasReply = _next.GetAwaiter().GetResult();
            Status = hasReply ? Status : RpcStatusCode.OK;
            return hasReply;
        }
        catch (RpcException e)
        {
            Status = e.Code;
            throw;
        }
    }

    private void TakeReply()
    {
        _over = true;
        if (HasReply())
        {
            _over = false;
            _received++;
            ReportProgress();
            DynamicMessage reply = _call.Current;
            _next = _call.ReadAsync().AsTask();
            _write(reply);
        }
    }
}

/// <summary>Shows a progress bar for a message that is sent in parts, if that takes longer than a
/// second.</summary>
/// <remarks>Use it only on the thread of the cmdlet, because only this thread may write to the
/// host.</remarks>
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
