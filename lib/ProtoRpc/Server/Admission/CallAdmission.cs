namespace ProtoRpc.Server.Admission;

/// <summary>Lets calls into the handlers of a server, no more at the same time than its limits say, on all
/// faces together. The others wait for their turn, or are refused at once. Safe for use by many
/// threads.</summary>
/// <remarks>As long as there are fewer calls than may run, a call costs one atomic operation when it enters
/// and one when it leaves.</remarks>
/// <param name="limits">How many run, how many wait, and for how long.</param>
/// <param name="monitor">Counts those that wait.</param>
internal sealed class CallAdmission(RpcLimits limits, CallMonitor monitor)
{
    private readonly Lock _gate = new();
    private readonly int _maxRunning = limits.MaxConcurrentCalls;
    private readonly TimeSpan _maxWait = limits.MaxQueueTime;
    private readonly CallQueue<WaitingCall> _queue = new(limits.MaxQueuedCalls, limits.MaxQueueTime);
    private int _running;

    // The queue's count, for those who are not within the gate.
    private int _waiting;

    /// <summary>The calls that run now.</summary>
    public int Running => Volatile.Read(ref _running);

    /// <summary>Refuses a call whose turn will not come, before its request is read. One that is not refused
    /// here has no place yet.</summary>
    /// <exception cref="RpcException">ResourceExhausted.</exception>
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

    /// <summary>Lets a call in when its turn comes. Then <see cref="Leave"/> must follow.</summary>
    /// <exception cref="RpcException">ResourceExhausted: there is no room, or its turn came too late;
    /// DeadlineExceeded.</exception>
    /// <exception cref="OperationCanceledException">The caller disconnected, or the server
    /// stops.</exception>
    public ValueTask EnterAsync(RpcServerCallContext context) =>
        Volatile.Read(ref _waiting) == 0 && TryTakeTurn() ? default : WaitAsync(context);

    /// <summary>Ends a call that was let in.</summary>
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

    // A call that is added and one that leaves each write first and look then, so that one of them sees the
    // other: no call waits while fewer run than may.
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

    // The gate is held where a call gets its turn: what waits for it goes on elsewhere.
    private sealed class WaitingCall(CallAdmission admission)
    {
        private readonly TaskCompletionSource<bool> _turn =
            new(TaskCreationOptions.RunContinuationsAsynchronously);

        public CallQueue<WaitingCall>.Place? Place { get; set; }

        /// <summary>Whether it has its turn, or was given up.</summary>
        public Task<bool> Turn => _turn.Task;

        public void End(bool hasTurn) => _turn.TrySetResult(hasTurn);

        public void GiveUp() => admission.GiveUp(this);
    }
}
