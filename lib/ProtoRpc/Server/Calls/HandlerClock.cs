using ProtoRpc.Transports;

namespace ProtoRpc.Server.Calls;

/// <summary>The time of a call. It ends at the caller's deadline, after the server's handler timeout, when
/// the caller cancels or disconnects, or when the server stops.</summary>
internal sealed class HandlerClock : IDisposable
{
    private readonly TimeSpan _handlerTimeout;

    // A monotonic clock: if the machine's clock is set while the call runs, the call still ends after the
    // same time. Only Deadline, a time of day, is then off.
    private readonly CallClock _time;
    private readonly bool _isOfServer;
    private CancellationTokenSource? _source;

    /// <param name="deadline">When the caller stops waiting; null if the caller sent no deadline.</param>
    /// <param name="handlerTimeout">The maximum time of a handler.</param>
    /// <param name="aborted">Cancelled when the caller cancels or disconnects, or when the server
    /// stops.</param>
    public HandlerClock(DateTimeOffset? deadline, TimeSpan handlerTimeout, CancellationToken aborted)
    {
        _handlerTimeout = handlerTimeout;
        Deadline = Earlier(deadline, handlerTimeout);
        _isOfServer = Deadline != deadline;
        Aborted = aborted;
        _time = CallClock.Start(Timeout.InfiniteTimeSpan, aborted, Deadline);
    }

    /// <summary>When the time ends, by the machine's clock when the call arrived; null for no
    /// limit.</summary>
    public DateTimeOffset? Deadline { get; }

    /// <summary>Cancelled when the caller cancels or disconnects, or when the server stops.</summary>
    public CancellationToken Aborted { get; }

    /// <summary>The remaining time; InfiniteTimeSpan for no limit.</summary>
    public TimeSpan Left => _time.Left;

    /// <summary>The remaining time; null for no limit.</summary>
    public TimeSpan? Bound => _time.IsEndless ? null : Left;

    /// <summary>Whether the time is over.</summary>
    public bool IsOver => _time.IsOver;

    /// <summary>Cancelled like <see cref="Aborted"/>, and at the deadline.</summary>
    public CancellationToken Token => _time.IsEndless ? Aborted : (_source ??= WithDeadline()).Token;

    /// <summary>Rejects a call whose deadline has passed.</summary>
    /// <exception cref="RpcException">DeadlineExceeded: the deadline has passed.</exception>
    public void RequireTime()
    {
        // A timer may fire slightly before the deadline.
        if (IsOver || (_source is { IsCancellationRequested: true } && !Aborted.IsCancellationRequested))
        {
            throw new RpcException(
                RpcStatusCode.DeadlineExceeded,
                _isOfServer
                    ? $"The server's HandlerTimeout of {Seconds} passed before the handler began."
                    : "The deadline passed before the handler began.");
        }
    }

    /// <summary>Converts a failure: if a handler stops because its time is over, the failure is
    /// DeadlineExceeded instead of Cancelled.</summary>
    public Exception Explain(Exception failure) =>
        failure is OperationCanceledException && _source is { IsCancellationRequested: true }
            && !Aborted.IsCancellationRequested
            ? Late(failure)
            : failure;

    /// <summary>The error for a handler that did not end in time.</summary>
    public RpcException Late(Exception? failure = null) => new(
        RpcStatusCode.DeadlineExceeded,
        _isOfServer
            ? $"The handler did not return within the server's HandlerTimeout of {Seconds}."
            : "The deadline passed before the handler ended.",
        failure);

    private string Seconds => $"{_handlerTimeout.TotalSeconds:0.###} s";

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

    // Created on demand: a timer for every call would cost more than an empty call.
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
