using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using ProtoRpc.Protocols;

namespace ProtoRpc.Server.Calls;

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
    /// <exception cref="RpcException">ResourceExhausted: too many calls are waiting.</exception>
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
    /// <exception cref="RpcException">ResourceExhausted: too many calls are waiting, or the turn came too
    /// late. DeadlineExceeded.</exception>
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
            Record();
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
        Record();
        while (_queue.Count > 0 && TryTakeTurn())
        {
            _queue.TryTake(out WaitingCall? next);
            next!.End(hasTurn: true);
        }

        Record();
    }

    private void Record()
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

        /// <summary>Completes with true when the call gets its turn, or with false when the call is
        /// abandoned.</summary>
        public Task<bool> Turn => _turn.Task;

        public void End(bool hasTurn) => _turn.TrySetResult(hasTurn);

        public void GiveUp() => admission.GiveUp(this);
    }
}

/// <summary>A queue of calls. Clients take turns, however many waiting calls each of them has.</summary>
/// <remarks>
/// <para>When the queue is full, a call displaces the last call of the client with the most waiting calls, if
/// that client has at least twice as many. So a client that floods the server cannot keep others out.</para>
/// <para>A call is rejected immediately if its expected wait is too long, because a late rejection does not
/// help the caller.</para>
/// <para>Not thread-safe.</para>
/// </remarks>
/// <param name="maxCalls">The maximum number of waiting calls.</param>
/// <param name="maxWait">The maximum time of waiting; InfiniteTimeSpan for no limit.</param>
internal sealed class CallQueue<TCall>(int maxCalls, TimeSpan maxWait)
    where TCall : class
{
    private readonly Dictionary<object, Line> _lines = [];

    // The lines that contain calls, in the order of their turns.
    private readonly LinkedList<Line> _turns = [];
    private readonly CallPace _pace = new();

    public int Count { get; private set; }

    /// <summary>Whether a call of a client would be accepted now.</summary>
    /// <param name="client">The client; compared by <see cref="object.Equals(object)"/>.</param>
    /// <param name="left">The time until the call's deadline; null for none.</param>
    public bool HasRoom(object client, TimeSpan? left) =>
        (Count < maxCalls || Longest(client) is not null)
        && IsSoon(client, left, Stopwatch.GetTimestamp());

    /// <summary>Adds a call, if the queue is not full and the call's turn comes in time.</summary>
    /// <param name="client">The client; compared by <see cref="object.Equals(object)"/>.</param>
    /// <param name="call">The call.</param>
    /// <param name="left">The time until the call's deadline; null for none.</param>
    /// <param name="displaced">The call that was removed for this one; null for none.</param>
    /// <returns>The call's place; null if it is rejected.</returns>
    public Place? TryAdd(object client, TCall call, TimeSpan? left, out TCall? displaced)
    {
        displaced = null;
        long now = Stopwatch.GetTimestamp();
        if (!IsSoon(client, left, now))
        {
            return null;
        }

        if (Count >= maxCalls)
        {
            if (Longest(client)?.Calls.Last is not { } last)
            {
                return null;
            }

            displaced = last.Value.Call;
            Remove(last.Value);
        }

        return Add(client, call, now);
    }

    /// <summary>Adds a call, ignoring the limits.</summary>
    public Place Add(object client, TCall call) => Add(client, call, Stopwatch.GetTimestamp());

    private Place Add(object client, TCall call, long now)
    {
        if (!_lines.TryGetValue(client, out Line? line))
        {
            line = new Line(client);
            _lines.Add(client, line);
            _turns.AddLast(line.Turn);
        }

        if (Count == 0)
        {
            _pace.Resume(now);
        }

        Count++;
        return new Place(line, call, now);
    }

    /// <summary>Removes the next call.</summary>
    public bool TryTake([NotNullWhen(true)] out TCall? call)
    {
        if (_turns.First?.Value is not { } line)
        {
            call = null;
            return false;
        }

        Place first = line.Calls.First!.Value;
        call = first.Call;
        Remove(first);
        if (line.Calls.Count > 0)
        {
            _turns.Remove(line.Turn);
            _turns.AddLast(line.Turn);
        }

        _pace.Count(Stopwatch.GetTimestamp());
        return true;
    }

    /// <summary>Removes a call that has waited for the maximum time.</summary>
    public bool TryTakeLate([NotNullWhen(true)] out TCall? call)
    {
        long now = Stopwatch.GetTimestamp();
        call = null;
        if (maxWait == Timeout.InfiniteTimeSpan)
        {
            return false;
        }

        foreach (Line line in _turns)
        {
            Place oldest = line.Calls.First!.Value;
            if (Stopwatch.GetElapsedTime(oldest.Since, now) > maxWait)
            {
                call = oldest.Call;
                Remove(oldest);
                return true;
            }
        }

        return false;
    }

    /// <summary>Removes a call that no longer waits.</summary>
    /// <returns>False if it was already removed.</returns>
    public bool Remove(Place? place)
    {
        if (place?.Node.List is null)
        {
            return false;
        }

        Line line = place.Line;
        line.Calls.Remove(place.Node);
        if (line.Calls.Count == 0)
        {
            _turns.Remove(line.Turn);
            _lines.Remove(line.Client);
        }

        if (--Count == 0)
        {
            _pace.Pause(Stopwatch.GetTimestamp());
        }

        return true;
    }

    /// <summary>Removes all calls.</summary>
    public TCall[] Clear()
    {
        TCall[] calls = [.. _turns.SelectMany(line => line.Calls).Select(place => place.Call)];
        foreach (Line line in _turns)
        {
            line.Calls.Clear();
        }

        _turns.Clear();
        _lines.Clear();
        Count = 0;
        _pace.Pause(Stopwatch.GetTimestamp());
        return calls;
    }

    // The line whose last call is displaced for a call of the client; null if no line is twice as long as the
    // client's would be. Clients with similar numbers of calls do not displace each other, so that accepted
    // calls are rarely rejected.
    private Line? Longest(object client)
    {
        int most = 2 * (CountOf(client) + 1);
        Line? longest = null;
        foreach (Line line in _turns)
        {
            if (line.Calls.Count >= most)
            {
                most = line.Calls.Count + 1;
                longest = line;
            }
        }

        return longest;
    }

    // If no call is ahead, this one is accepted however slow the last ones were, so that the pace is measured
    // again.
    private bool IsSoon(object client, TimeSpan? left, long now)
    {
        int mine = CountOf(client);
        int others = _turns.Count - (mine > 0 ? 1 : 0);
        int ahead = (int)Math.Min(Count, mine + ((mine + 1L) * others));
        if (ahead == 0)
        {
            return true;
        }

        TimeSpan wait = _pace.Expect(ahead, now);
        return (maxWait == Timeout.InfiniteTimeSpan || wait <= maxWait) && (left is null || wait <= left);
    }

    private int CountOf(object client) => _lines.TryGetValue(client, out Line? line) ? line.Calls.Count : 0;

    /// <summary>The place of a waiting call.</summary>
    internal sealed class Place
    {
        internal Place(Line line, TCall call, long since)
        {
            Line = line;
            Call = call;
            Since = since;
            Node = line.Calls.AddLast(this);
        }

        internal Line Line { get; }

        internal TCall Call { get; }

        internal long Since { get; }

        internal LinkedListNode<Place> Node { get; }
    }

    /// <summary>The calls of a client.</summary>
    internal sealed class Line
    {
        internal Line(object client)
        {
            Client = client;
            Turn = new LinkedListNode<Line>(this);
        }

        internal object Client { get; }

        internal LinkedList<Place> Calls { get; } = [];

        internal LinkedListNode<Line> Turn { get; }
    }
}

/// <summary>Measures how fast waiting calls get their turn, over the last one or two seconds with waiting
/// calls.</summary>
/// <remarks>Not thread-safe. Handlers often end together, so only many turns over a time much longer than a
/// handler have a meaningful mean.</remarks>
internal sealed class CallPace
{
    private const int FewestTurns = 16;
    private static readonly long Window = Stopwatch.Frequency;

    private long _begin;
    private long _paused;
    private long _turns;
    private long _timeBefore;
    private long _turnsBefore;

    /// <summary>Records that calls wait again.</summary>
    public void Resume(long now) => _begin += now - _paused;

    /// <summary>Records that no call waits any more. The running measurement continues with the next call
    /// that waits: if a slow pace rejects all calls but the first, no new measurement would ever
    /// end.</summary>
    public void Pause(long now) => _paused = now;

    /// <summary>Records that a waiting call got its turn.</summary>
    public void Count(long now)
    {
        _turns++;
        if (_turns >= FewestTurns && now - _begin >= Window)
        {
            _timeBefore = now - _begin;
            _turnsBefore = _turns;
            _begin = now;
            _turns = 0;
        }
    }

    /// <summary>Estimates how long a call waits for its turn.</summary>
    /// <param name="ahead">The number of calls before it.</param>
    /// <param name="now">The time, as of <see cref="Stopwatch.GetTimestamp"/>.</param>
    /// <returns>Zero if nothing was measured.</returns>
    public TimeSpan Expect(int ahead, long now)
    {
        long turns = _turnsBefore + _turns;
        return turns < FewestTurns
            ? TimeSpan.Zero
            : TimeSpan.FromSeconds(
                (double)ahead * (_timeBefore + now - _begin) / turns / Stopwatch.Frequency);
    }
}

/// <summary>The errors of a server with too many calls.</summary>
internal static class ServerBusy
{
    /// <summary>How long the caller of a failed call should wait before it calls again, if this server, or
    /// the one behind a gateway, was too busy to run the call; otherwise null.</summary>
    /// <remarks>If another server was too busy for a call that the handler made, the handler's own call has
    /// run.</remarks>
    public static TimeSpan? RetryAfterOf(Exception error) =>
        error is RpcException { ErrorId: RpcErrorIds.ServerBusy } or RpcException { IsForwarded: true }
            ? ((RpcException)error).RetryAfter
            : null;

    /// <summary>The error for a call that finds the queue full, or whose turn would come too late.</summary>
    /// <param name="running">The number of running calls, or of workers.</param>
    /// <param name="waiting">The number of waiting calls.</param>
    /// <param name="what">The plural noun for the number in <paramref name="running"/>, for the
    /// error.</param>
    public static RpcException Full(int running, int waiting, string what) => new(
        RpcStatusCode.ResourceExhausted,
        $"The server is too busy: {waiting:N0} calls already wait for its {running:N0} {what}. Call later.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        RetryAfter = RequestMemory.RetryAfter,
    };

    /// <summary>The error for a waiting call that did not get its turn.</summary>
    public static RpcException GivenUp() => new(
        RpcStatusCode.ResourceExhausted,
        "The server is too busy: the call waited too long for other calls to end. Call later.")
    {
        ErrorId = RpcErrorIds.ServerBusy,
        RetryAfter = RequestMemory.RetryAfter,
    };
}
