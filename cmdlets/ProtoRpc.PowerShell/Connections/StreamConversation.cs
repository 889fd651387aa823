using System.Diagnostics.CodeAnalysis;

namespace ProtoRpc.PowerShell.Connections;

/// <summary>A streaming call in which a script sends and receives by turns. A timeout or Ctrl+C ends a wait,
/// and the call continues.</summary>
/// <remarks>
/// <para>Thread-safe. One send and one read run at a time; others wait for their turn. Cancelling a read or a
/// send of <see cref="RpcStreamingCall"/> cancels the call, so they are never cancelled: a wait that ends
/// leaves them behind, and the next wait continues with them.</para>
/// <para>One reply is read ahead. So the state shows an early end, and the headers, before a script
/// receives.</para>
/// </remarks>
internal sealed class StreamConversation
{
    /// <summary>Why a stream was closed by a script.</summary>
    public const string ByUser = "was closed. Open another one with Open-RpcStream.";

    /// <summary>Why a stream was closed with its connection.</summary>
    public const string ByConnection = "was closed with its connection. Run Connect-RpcEndpoint again.";

    /// <summary>Why a stream was closed with its runspace.</summary>
    public const string ByRunspace = "was closed with the session that opened it. Keep the session open, or "
        + "open the stream in the session that uses it.";

    // An ended call replies immediately. The limit only applies if the connection is broken.
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(5);

    private readonly Lock _gate = new();
    private readonly SemaphoreSlim _sendTurn = new(1, 1);
    private readonly SemaphoreSlim _readTurn = new(1, 1);
    private readonly CancellationTokenSource _end;
    private readonly CancellationToken _closing;
    private readonly RpcStreamingCall _call;
    private readonly IDisposable? _owned;
    private readonly RpcEndpoint _endpoint;
    private CallLogLine? _log;
    private Action<StreamConversation>? _ended;
    private Task<bool> _reading;
    private Task<bool>? _sending;
    private string? _closedBecause;
    private bool _isCompleted;
    private bool _wasRejected;
    private long _sent;
    private long _received;

    /// <param name="call">The call.</param>
    /// <param name="end">Cancels the call.</param>
    /// <param name="endpoint">The endpoint.</param>
    /// <param name="info">Receives the headers and trailers.</param>
    /// <param name="owned">The client, if the stream has one for itself; disposed at the end of the
    /// call.</param>
    public StreamConversation(
        RpcStreamingCall call, CancellationTokenSource end, RpcEndpoint endpoint, RpcReplyInfo info,
        IDisposable? owned)
    {
        _call = call;
        _end = end;
        _closing = end.Token;
        _endpoint = endpoint;
        _owned = owned;
        Info = info;
        _log = new CallLogLine(call.Method.FullName, endpoint, info);
        _reading = ReadAsync();
    }

    public RpcMethodInfo Method => _call.Method;

    /// <summary>Whether the stream has a client for itself, and not that of a connection.</summary>
    public bool OwnsClient => _owned is not null;

    public RpcEndpoint Endpoint => Info.Endpoint ?? _endpoint;

    /// <summary>The headers and trailers.</summary>
    public RpcReplyInfo Info { get; }

    public long Sent => Volatile.Read(ref _sent);

    public long Received => Volatile.Read(ref _received);

    /// <summary>How the call ended; null before its end.</summary>
    public RpcStatusCode? Status { get; private set; }

    /// <summary>Why the call failed; null if it did not.</summary>
    public RpcException? Error { get; private set; }

    public string State =>
        Volatile.Read(ref _closedBecause) is not null && Status is null or RpcStatusCode.Cancelled
        ? "Closed"
        : Status is not null || _wasRejected ? "Ended"
        : _isCompleted ? "HalfClosed"
        : "Open";

    /// <summary>Calls an action once when the call has ended or is closed.</summary>
    public void WhenEnded(Action<StreamConversation> action)
    {
        lock (_gate)
        {
            if (Status is null && _closedBecause is null)
            {
                _ended += action;
                return;
            }
        }

        action(this);
    }

    /// <summary>The line of the call for <c>-Verbose</c>, once, when it has ended; otherwise null.</summary>
    public string? EndLine() => Status is { } status
        ? Interlocked.Exchange(ref _log, null)?.TextOf(status)
        : null;

    /// <summary>Sends a message. Waits while the server does not accept more.</summary>
    /// <param name="message">The message.</param>
    /// <param name="wait">How long to wait, and what ends the wait.</param>
    /// <exception cref="RpcException">The call failed. Cancelled (StreamClosed): the stream is closed.
    /// FailedPrecondition (StreamCompleted): the call takes no more messages. DeadlineExceeded
    /// (StreamTimeout): the time passed; the message is sent when the server accepts it.</exception>
    /// <exception cref="OperationCanceledException">The wait was cancelled.</exception>
    public void Send(DynamicMessage message, StreamWait wait)
    {
        Enter(_sendTurn, wait, NotAccepted);
        try
        {
            FinishSending(wait);
            RequireOpen();
            if (_isCompleted)
            {
                throw NoMore(Method.IsClientStreaming
                    ? "was completed"
                    : "takes only one message, which is already sent");
            }

            _sending = SendAsync(message);
            FinishSending(wait);
            if (!Method.IsClientStreaming)
            {
                CompleteAtOnce();
            }
        }
        finally
        {
            _sendTurn.Release();
        }
    }

    /// <summary>Ends the request stream. Doing so again changes nothing.</summary>
    /// <exception cref="RpcException">Those of <see cref="Send"/>.</exception>
    /// <exception cref="OperationCanceledException">The wait was cancelled.</exception>
    public void Complete(StreamWait wait)
    {
        Enter(_sendTurn, wait, NotAccepted);
        try
        {
            FinishSending(wait);
            RequireOpen();
            CompleteAtOnce();
        }
        finally
        {
            _sendTurn.Release();
        }
    }

    /// <summary>Waits for the next reply. Each reply goes to one caller.</summary>
    /// <param name="wait">How long to wait, and what ends the wait.</param>
    /// <param name="reply">The reply.</param>
    /// <returns>False if the call has ended successfully.</returns>
    /// <exception cref="RpcException">The call failed. Cancelled (StreamClosed): the stream is closed.
    /// DeadlineExceeded (StreamTimeout): the time passed, and the stream is still open.</exception>
    /// <exception cref="OperationCanceledException">The wait was cancelled.</exception>
    public bool TryReceive(StreamWait wait, [NotNullWhen(true)] out DynamicMessage? reply)
    {
        reply = null;
        Enter(_readTurn, wait, NoReply);
        try
        {
            if (!Finish(_reading, wait, NoReply))
            {
                return false;
            }

            reply = _call.Current;
            Interlocked.Increment(ref _received);
            _reading = ReadAsync();
            return true;
        }
        finally
        {
            _readTurn.Release();
        }
    }

    /// <summary>Cancels the call, if it has not ended. Does not wait for the server.</summary>
    /// <param name="because">Why later uses fail.</param>
    public void Close(string because)
    {
        lock (_gate)
        {
            if (_closedBecause is not null)
            {
                return;
            }

            _closedBecause = because;
        }

        SetEnd(RpcStatusCode.Cancelled, null);
        _ = Task.Run(DisposeAsync);
    }

    private async Task DisposeAsync()
    {
        try
        {
            await _end.CancelAsync().ConfigureAwait(false);
            await _call.DisposeAsync().ConfigureAwait(false);
        }
        catch (Exception e) when (e is RpcException or ObjectDisposedException or IOException)
        {
            // The connection broke at the same time, which also ends the call.
        }
    }

    private async Task<bool> ReadAsync()
    {
        try
        {
            bool hasReply = await _call.ReadAsync(CancellationToken.None).ConfigureAwait(false);
            if (!hasReply)
            {
                SetEnd(RpcStatusCode.OK, null);
            }

            return hasReply;
        }
        catch (RpcException e)
        {
            SetEnd(e.Code, e);
            throw;
        }
    }

    private async Task<bool> SendAsync(DynamicMessage message)
    {
        bool isAccepted = await _call.SendAsync(message, compress: true, CancellationToken.None)
            .ConfigureAwait(false);
        if (isAccepted)
        {
            Interlocked.Increment(ref _sent);
        }

        return isAccepted;
    }

    private void SetEnd(RpcStatusCode status, RpcException? error)
    {
        Action<StreamConversation>? ended;
        lock (_gate)
        {
            if (Status is not null)
            {
                return;
            }

            Status = status;
            Error = error;
            ended = _ended;
            _ended = null;
        }

        ended?.Invoke(this);
        _owned?.Dispose();
    }

    // Waits for the message that is being sent, also for one whose sender has stopped waiting.
    private void FinishSending(StreamWait wait)
    {
        if (_sending is not { } sending)
        {
            return;
        }

        bool isAccepted = Finish(sending, wait, NotAccepted);
        _sending = null;
        if (!isAccepted)
        {
            _wasRejected = true;
            throw EndOfCall(wait);
        }
    }

    // The server has ended the call. The reason is known after all replies were read.
    private RpcException EndOfCall(StreamWait wait)
    {
        try
        {
            StreamWait end = new(EndPatience, wait.Cancellation);
            Finish(_reading, end, NoReply);
        }
        catch (RpcException e) when (e.ErrorId != RpcErrorIds.StreamTimeout)
        {
            return e;
        }
        catch (RpcException)
        {
            // Unread replies precede the end, so its reason is not known yet.
        }

        return NoMore("was ended by the server. Receive-RpcStream returns the replies that are left, and how "
            + "the call ended");
    }

    private void CompleteAtOnce()
    {
        if (_isCompleted)
        {
            return;
        }

        _isCompleted = true;
        _ = CompleteAsync();
    }

    private async Task CompleteAsync()
    {
        try
        {
            await _call.CompleteAsync(CancellationToken.None).ConfigureAwait(false);
        }
        catch (Exception e) when (e is RpcException or OperationCanceledException or ObjectDisposedException)
        {
            // The receiving cmdlet reports the error of the call.
        }
    }

    private void Enter(SemaphoreSlim turn, StreamWait wait, Func<TimeSpan, RpcException> late)
    {
        RequireOpen();
        using CancellationTokenSource either =
            CancellationTokenSource.CreateLinkedTokenSource(wait.Cancellation, _closing);
        try
        {
            if (!turn.Wait(wait.Left, either.Token))
            {
                throw late(wait.Time);
            }
        }
        catch (OperationCanceledException) when (!wait.Cancellation.IsCancellationRequested)
        {
            throw Closed();
        }
    }

    private bool Finish(Task<bool> task, StreamWait wait, Func<TimeSpan, RpcException> late)
    {
        using CancellationTokenSource either =
            CancellationTokenSource.CreateLinkedTokenSource(wait.Cancellation, _closing);
        try
        {
            // Wait would throw an AggregateException.
            if (Task.WaitAny([task], (int)wait.Left.TotalMilliseconds, either.Token) < 0)
            {
                throw late(wait.Time);
            }

            return task.GetAwaiter().GetResult();
        }
        catch (OperationCanceledException) when (!wait.Cancellation.IsCancellationRequested)
        {
            throw Closed();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Cancelled && _closedBecause is not null)
        {
            throw Closed();
        }
    }

    private void RequireOpen()
    {
        if (Volatile.Read(ref _closedBecause) is not null)
        {
            throw Closed();
        }
    }

    private RpcException Closed() => Fault(
        RpcStatusCode.Cancelled, RpcErrorIds.StreamClosed,
        $"The stream of {Method.FullName} {_closedBecause}");

    private RpcException NoMore(string why) => Fault(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.StreamCompleted,
        $"The message was not sent: the stream of {Method.FullName} {why}.");

    private RpcException NoReply(TimeSpan time) => Fault(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.StreamTimeout,
        $"No reply of {Method.FullName} arrived within {time.TotalSeconds:0.###} s. The stream is still "
        + "open: run Receive-RpcStream again, or Close-RpcStream to cancel the call.");

    private RpcException NotAccepted(TimeSpan time) => Fault(
        RpcStatusCode.DeadlineExceeded, RpcErrorIds.StreamTimeout,
        $"The server did not accept a message of {Method.FullName} within {time.TotalSeconds:0.###} s. The "
        + "stream is still open, and the message is sent when the server accepts it. The server may wait "
        + "until you receive its replies with Receive-RpcStream.");

    private RpcException Fault(RpcStatusCode code, string id, string text) => new(code, id, text)
    {
        MethodName = Method.FullName,
    };
}

/// <summary>How long to wait, and what ends the wait.</summary>
internal readonly struct StreamWait
{
    private readonly long _start = System.Diagnostics.Stopwatch.GetTimestamp();

    /// <param name="time">How long to wait; InfiniteTimeSpan for no limit.</param>
    /// <param name="cancellation">Ends the wait.</param>
    public StreamWait(TimeSpan time, CancellationToken cancellation)
    {
        Time = time;
        Cancellation = cancellation;
    }

    /// <summary>The whole time.</summary>
    public TimeSpan Time { get; }

    public CancellationToken Cancellation { get; }

    /// <summary>The rest of the time; at most what a wait of the system accepts.</summary>
    public TimeSpan Left
    {
        get
        {
            if (Time == Timeout.InfiniteTimeSpan || Time.TotalMilliseconds >= int.MaxValue)
            {
                return Timeout.InfiniteTimeSpan;
            }

            TimeSpan left = Time - System.Diagnostics.Stopwatch.GetElapsedTime(_start);
            return left > TimeSpan.Zero ? left : TimeSpan.Zero;
        }
    }
}
