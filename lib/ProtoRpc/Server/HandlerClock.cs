using ProtoRpc.Transports;

namespace ProtoRpc.Server;

/// <summary>The time of a call: it ends with the caller's deadline, with the time that the server gives its
/// handlers, or when the caller cancels or vanishes or the server stops.</summary>
internal sealed class HandlerClock : IDisposable
{
    private readonly TimeSpan _handlerTimeout;

    // It runs on when the machine's clock is set, and the deadline does not.
    private readonly CallClock _time;
    private readonly bool _isOfServer;
    private CancellationTokenSource? _source;

    /// <param name="deadline">When the caller stops waiting; null where it did not say so.</param>
    /// <param name="handlerTimeout">How long a handler may take.</param>
    /// <param name="aborted">Cancelled when the caller cancels or vanishes, or the server stops.</param>
    public HandlerClock(DateTimeOffset? deadline, TimeSpan handlerTimeout, CancellationToken aborted)
    {
        _handlerTimeout = handlerTimeout;
        Deadline = Earlier(deadline, handlerTimeout);
        _isOfServer = Deadline != deadline;
        Aborted = aborted;
        _time = CallClock.Start(Timeout.InfiniteTimeSpan, aborted, Deadline);
    }

    /// <summary>When the time is over, by the clock of the machine as it was when the call came; null for no
    /// such moment.</summary>
    public DateTimeOffset? Deadline { get; }

    /// <summary>Cancelled when the caller cancels or vanishes, or the server stops.</summary>
    public CancellationToken Aborted { get; }

    /// <summary>What is left of the time; InfiniteTimeSpan for ever.</summary>
    public TimeSpan Left => _time.Left;

    /// <summary>The same; null for ever.</summary>
    public TimeSpan? Bound => _time.IsEndless ? null : Left;

    /// <summary>Whether the time is over.</summary>
    public bool IsOver => _time.IsOver;

    /// <summary>The same, and cancelled at the deadline.</summary>
    public CancellationToken Token => _time.IsEndless ? Aborted : (_source ??= WithDeadline()).Token;

    /// <summary>Refuses a call whose caller waits no longer.</summary>
    /// <exception cref="RpcException">DeadlineExceeded.</exception>
    public void RequireTime()
    {
        // A timer may be a little earlier than the clock.
        if (IsOver || (_source is { IsCancellationRequested: true } && !Aborted.IsCancellationRequested))
        {
            throw new RpcException(
                RpcStatusCode.DeadlineExceeded, "The deadline passed before the handler began.");
        }
    }

    /// <summary>What a failure is: a handler that gives up when its time is over
    /// was not cancelled, it was late.</summary>
    public Exception Explain(Exception failure) =>
        failure is OperationCanceledException && _source is { IsCancellationRequested: true }
            && !Aborted.IsCancellationRequested
            ? Late(failure)
            : failure;

    /// <summary>The failure of a handler that did not end in time.</summary>
    public RpcException Late(Exception? failure = null) => new(
        RpcStatusCode.DeadlineExceeded,
        _isOfServer
            ? "The handler did not return within the server's HandlerTimeout of "
                + $"{_handlerTimeout.TotalSeconds:0.###} s."
            : "The deadline passed before the handler ended.",
        failure);

    public void Dispose() => _source?.Dispose();

    private static DateTimeOffset? Earlier(DateTimeOffset? deadline, TimeSpan timeout)
    {
        if (timeout == Timeout.InfiniteTimeSpan)
        {
            return deadline;
        }

        DateTimeOffset end = DateTimeOffset.UtcNow + timeout;
        return deadline < end ? deadline : end;
    }

    // Made only for handlers that look: a timer for every call would cost more than an empty call.
    private CancellationTokenSource WithDeadline()
    {
        CancellationTokenSource source = CancellationTokenSource.CreateLinkedTokenSource(Aborted);
        TimeSpan left = Left;
        if (left == TimeSpan.Zero)
        {
            source.Cancel();
        }
        else
        {
            source.CancelAfter(left);
        }

        return source;
    }
}
