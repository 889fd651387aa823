using Google.Protobuf;
using ProtoRpc.PowerShell.Cmdlets;

namespace ProtoRpc.PowerShell.Method;

/// <summary>A call of streams in a pipeline: messages go out as objects come in,
/// replies come out as they arrive.</summary>
/// <remarks>Works on the pipeline's thread alone:
/// replies are written while it waits for the server anyway.</remarks>
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
