namespace ProtoRpc.Server.Admission;

/// <summary>Limits how many calls of a server run at the same time, for all protocols together. Other calls
/// wait for their turn, or are rejected immediately. Thread-safe.</summary>
/// <remarks>Below the limit, a call costs two atomic operations: one when it enters, and one when it
/// leaves.</remarks>
/// <param name="limits">The limits for running calls, waiting calls and the time of waiting.</param>
/// <param name="monitor">Counts the waiting calls.</param>
internal sealed class CallAdmission(RpcLimits limits, CallMonitor monitor)
{
    private readonly Lock _gate = new();
    private readonly int _maxRunning = limits.MaxConcurrentCalls;
    private readonly TimeSpan _maxWait = limits.MaxQueueTime;
    private readonly CallQueue<WaitingCall> _queue = new(limits.MaxQueuedCalls, limits.MaxQueueTime);
    private int _running;

    // A copy of the queue's count, for reading it without the lock.
    private int _waiting;

    /// <summary>Rejects a call that would not get its turn, before its request is read. This does not reserve
    /// a place for the call.</summary>
    /// <exception cref="RpcException">ResourceExhausted: there is no room.</exception>
    public void RequireRoom(RpcServerCallContext context)
    {
        if (Volatile.Read(ref _running) < _maxRunning)
        {
            return;
        }

        lock (_gate)
        {
            if (_queue.HasRoom(context.Client, context.Clock.Bound))
            {
                return;
            }
        }

        throw Full();
    }

    /// <summary>Waits for the call's turn. Call <see cref="Leave"/> after it.</summary>
    /// <exception cref="RpcException">ResourceExhausted: there is no room, or the turn came too late.
    /// DeadlineExceeded.</exception>
    /// <exception cref="OperationCanceledException">The caller disconnected, or the server is
    /// stopping.</exception>
    public ValueTask EnterAsync(RpcServerCallContext context) =>
        Volatile.Read(ref _waiting) == 0 && TryTakeTurn() ? default : WaitAsync(context);

    /// <summary>Ends an admitted call.</summary>
    public void Leave()
    {
        Interlocked.Decrement(ref _running);
        if (Volatile.Read(ref _waiting) != 0)
        {
            lock (_gate)
            {
                LetIn();
            }
        }
    }

    private async ValueTask WaitAsync(RpcServerCallContext context)
    {
        WaitingCall call = new(this);
        WaitingCall? displaced;
        lock (_gate)
        {
            call.Place = _queue.TryAdd(context.Client, call, context.Clock.Bound, out displaced);
            LetIn();
        }

        displaced?.End(hasTurn: false);
        if (call.Place is null)
        {
            throw Full();
        }

        if (await IsLetInAsync(call, context.CancellationToken).ConfigureAwait(false))
        {
            return;
        }

        context.Clock.Aborted.ThrowIfCancellationRequested();
        context.Clock.RequireTime();
        throw ServerBusy.GivenUp();
    }

    private async ValueTask<bool> IsLetInAsync(WaitingCall call, CancellationToken cancellation)
    {
        if (call.Turn.IsCompleted)
        {
            return await call.Turn.ConfigureAwait(false);
        }

        using CancellationTokenSource patience =
            CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        if (_maxWait.TotalMilliseconds < int.MaxValue)
        {
            patience.CancelAfter(_maxWait);
        }

        using CancellationTokenRegistration registration = patience.Token.UnsafeRegister(
            static waiting => ((WaitingCall)waiting!).GiveUp(), call);
        return await call.Turn.ConfigureAwait(false);
    }

    private void GiveUp(WaitingCall call)
    {
        bool waited;
        lock (_gate)
        {
            waited = _queue.Remove(call.Place);
            Note();
        }

        if (waited)
        {
            call.End(hasTurn: false);
        }
    }

    // A call that enters and a call that leaves both write first and then read, so that one of them sees the
    // other. No call waits while fewer calls run than allowed.
    private void LetIn()
    {
        Note();
        while (_queue.Count > 0 && TryTakeTurn())
        {
            _queue.TryTake(out WaitingCall? next);
            next!.End(hasTurn: true);
        }

        Note();
    }

    private void Note()
    {
        int count = _queue.Count;
        monitor.AddQueued(count - Interlocked.Exchange(ref _waiting, count));
    }

    private bool TryTakeTurn()
    {
        int running = Volatile.Read(ref _running);
        while (running < _maxRunning)
        {
            int seen = Interlocked.CompareExchange(ref _running, running + 1, running);
            if (seen == running)
            {
                return true;
            }

            running = seen;
        }

        return false;
    }

    private RpcException Full() => ServerBusy.Full(_maxRunning, Volatile.Read(ref _waiting), "running calls");

    // A call gets its turn under the lock, so its continuation runs on another thread.
    private sealed class WaitingCall(CallAdmission admission)
    {
        private readonly TaskCompletionSource<bool> _turn =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public CallQueue<WaitingCall>.Place? Place { get; set; }

        /// <summary>Completes with true when the call gets its turn, or with false when it is given
        /// up.</summary>
        public Task<bool> Turn => _turn.Task;

        public void End(bool hasTurn) => _turn.TrySetResult(hasTurn);

        public void GiveUp() => admission.GiveUp(this);
    }
}
