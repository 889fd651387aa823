using System.Diagnostics;
using System.Management.Automation.Runspaces;
using Google.Protobuf;
using ProtoRpc.Server.Calls;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The workers of a listener: threads with one runspace each, created on demand up to a
/// limit.</summary>
internal sealed class HandlerPool : IDisposable
{
    // How long a stopped worker may take to end. The shell cannot stop .NET code that a script called, so
    // such a worker is written off. Its background thread does not keep the process alive.
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(2);

    // How often the deadlines are checked: a connection's thread cannot check them while it runs a script.
    private static readonly TimeSpan WatchPeriod = TimeSpan.FromMilliseconds(50);

    private readonly Lock _gate = new();
    private readonly List<HandlerWorker> _workers = [];
    private readonly Stack<HandlerWorker> _idle = [];
    private readonly HashSet<HandlerWorker> _stuck = [];
    private readonly CallQueue<HandlerCall> _queue;
    private readonly IdleMemory _memory = new();
    private readonly int _maxWorkers;
    private readonly int _maxStuck;
    private readonly Timer _watch;
    private bool _closed;
    private bool _retired;
    private int _watching;

    public HandlerPool(
        HandlerEnvironment environment, HandlerStreams streams, int maxWorkers, RpcLimits limits)
    {
        Environment = environment;
        Streams = streams;
        _maxWorkers = maxWorkers;
        Limits = limits;
        _queue = new CallQueue<HandlerCall>(limits.MaxQueuedCalls, limits.MaxQueueTime);
        _maxStuck = limits.MaxStuckWorkers;
        _watch = new Timer(static pool => ((HandlerPool)pool!).GiveUpLate(), this, -1, -1);
    }

    public HandlerEnvironment Environment { get; }

    /// <summary>The scripts that the workers run; complete before the first worker is created.</summary>
    public HashSet<ScriptSource> Scripts { get; } = [];

    /// <summary>Whether there are filters. A filter calls the handler from its own worker.</summary>
    public bool HasFilters { get; init; }

    /// <summary>Whether scripts run under the caller's identity.</summary>
    public bool Impersonates { get; init; }

    public HandlerStreams Streams { get; }

    public RpcLimits Limits { get; }

    /// <summary>Stops the listener that uses the pool; returns at once.</summary>
    public Action? StopListener { get; set; }

    /// <summary>The maximum number of workers.</summary>
    public int MaxWorkers => _maxWorkers;

    public int WorkerCount
    {
        get
        {
            lock (_gate)
            {
                return _workers.Count;
            }
        }
    }

    /// <summary>The number of workers that were stopped but are still running.</summary>
    public int StuckWorkerCount
    {
        get
        {
            lock (_gate)
            {
                return _stuck.Count;
            }
        }
    }

    // Stuck workers are replaced, until there are too many of them.
    private int WorkersAllowed => _maxWorkers - Math.Max(0, _stuck.Count - _maxStuck);

    /// <summary>Creates the first worker, so that a module or an initialization script that fails is reported
    /// immediately.</summary>
    public void Start()
    {
        HandlerWorker first;
        lock (_gate)
        {
            first = StartWorker(isFirst: true);
        }

        first.WaitUntilReady();
    }

    /// <summary>Ends the workers when their calls have ended. Calls that still arrive, such as a call whose
    /// request was being received, are run.</summary>
    public void Retire()
    {
        lock (_gate)
        {
            _retired = true;
            while (_idle.TryPop(out HandlerWorker? worker))
            {
                _workers.Remove(worker);
                worker.Retire();
            }
        }
    }

    /// <summary>Keeps workers for further calls again.</summary>
    public void Resume()
    {
        lock (_gate)
        {
            _retired = false;
        }
    }

    /// <summary>Runs a handler, or a filter that passes the call on.</summary>
    public ValueTask<IMessage> HandleAsync(
        RpcServerCallContext context, IMessage request, ScriptSource script, RpcHandler? next = null)
    {
        bool blocking = IsBlocking;
        MethodFilterCall call = new(context, request, script, next);
        return HasFilters && FindWorkerHere(context) is { } worker
            ? new ValueTask<IMessage>(call.Execute(worker))
            : HandleAsync(call, blocking);
    }

    /// <summary>Runs the handler of a streaming method.</summary>
    public async ValueTask HandleAsync(
        RpcServerCallContext context, RpcServerStream stream, ScriptSource script)
    {
        bool blocking = IsBlocking;
        StreamCall call = new(context, stream, script);
        if (HasFilters && FindWorkerHere(context) is { } worker)
        {
            call.Execute(worker);
        }
        else
        {
            await HandleAsync(call, blocking).ConfigureAwait(false);
        }
    }

    /// <summary>Runs a handler or a filter for a raw call. A failure is written to the streams, because the
    /// caller only gets a return code.</summary>
    public async ValueTask<ReadOnlyMemory<byte>?> HandleAsync(
        RpcRawContext context, ReadOnlyMemory<byte> request, ScriptSource script, RpcRawHandler? next = null)
    {
        bool blocking = IsBlocking;
        RawFilterCall call = new(context, request, script, next);
        if (HasFilters && FindWorkerHere(context) is { } worker)
        {
            return call.Execute(worker);
        }

        try
        {
            return await HandleAsync(call, blocking).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            Streams.Add(FailureRecord.Create(context, e));
            throw;
        }
    }

    /// <summary>Returns the next call for a worker; blocks until there is one.</summary>
    /// <returns>Null if the worker must end its pipeline.</returns>
    public HandlerCall? Take(HandlerWorker worker)
    {
        lock (_gate)
        {
            worker.End();
            _memory.NoteUse();
            if (_closed || worker.IsEnding)
            {
                return null;
            }

            if (_queue.TryTake(out HandlerCall? next))
            {
                worker.Begin(next);
                return next;
            }

            if (_retired)
            {
                _workers.Remove(worker);
                worker.Retire();
                return null;
            }

            _idle.Push(worker);
        }

        return worker.WaitForCall();
    }

    /// <summary>Ends a worker whose runspace is closing. Other workers take its place.</summary>
    public void Withdraw(HandlerWorker worker)
    {
        lock (_gate)
        {
            _workers.Remove(worker);
            HandlerWorker[] idle = [.. _idle.Reverse().Where(other => other != worker)];
            _idle.Clear();
            Array.ForEach(idle, _idle.Push);
            worker.Retire();
        }
    }

    /// <summary>Removes a worker whose thread has ended. If no worker is left, the waiting calls
    /// fail.</summary>
    public void Remove(HandlerWorker worker, RpcException why)
    {
        HandlerCall[] queued = [];
        lock (_gate)
        {
            if (_stuck.Remove(worker))
            {
                return;
            }

            _workers.Remove(worker);
            if (_workers.Count == 0)
            {
                queued = _queue.Clear();
            }
        }

        Array.ForEach(queued, call => call.Fail(why));
    }

    public void Dispose()
    {
        HandlerWorker[] workers;
        HandlerCall[] queued;
        lock (_gate)
        {
            _closed = true;
            workers = [.. _workers];
            queued = _queue.Clear();
            _idle.Clear();
        }

        _memory.Dispose();
        _watch.Dispose();
        Array.ForEach(queued, call => call.Fail(Stopped()));
        Array.ForEach(workers, worker => worker.Close());
        long start = Stopwatch.GetTimestamp();
        foreach (HandlerWorker worker in workers)
        {
            TimeSpan left = StopTimeout - Stopwatch.GetElapsedTime(start);
            if (!worker.Join(left > TimeSpan.Zero ? left : TimeSpan.Zero))
            {
                worker.WriteOff();
            }
        }
    }

    // A connection's own thread blocks until the reply, which is cheaper than continuing on the thread pool.
    private static bool IsBlocking => !Thread.CurrentThread.IsThreadPoolThread;

    private static RpcException Stopped() =>
        new(RpcStatusCode.Unavailable, "The listener is stopping.") { MayHaveExecuted = false };

    private HandlerWorker? FindWorkerHere(RpcPeerContext context)
    {
        lock (_gate)
        {
            return _workers.Find(worker => worker.IsRunningHere(context));
        }
    }

    private ValueTask<TReply> HandleAsync<TReply>(HandlerCall<TReply> call, bool blocking)
    {
        if (blocking && TryLend(call) is { } lent)
        {
            return new ValueTask<TReply>(RunHere(call, lent));
        }

        call.Expect(blocking);
        Post(call);
        return blocking ? new ValueTask<TReply>(call.Wait(GiveUp)) : call.WaitAsync(GiveUp);
    }

    private HandlerWorker StartWorker(bool isFirst = false)
    {
        HandlerWorker worker = new(this, isFirst);
        _workers.Add(worker);
        worker.Start();
        return worker;
    }

    // The caller disconnected or stopped waiting. The script is stopped, but this does not wait for it to
    // end.
    private void GiveUp(HandlerCall call)
    {
        HandlerWorker? running;
        lock (_gate)
        {
            _queue.Remove(call.Place);
            running = _workers.Find(worker => worker.IsRunning(call));
            running?.BeginStop();
        }

        call.Fail(call.GivenUp());
        if (running is not null)
        {
            _ = WriteOffWhenStuckAsync(running, call);
        }
    }

    private async Task WriteOffWhenStuckAsync(HandlerWorker worker, HandlerCall call)
    {
        await Task.Delay(StopTimeout).ConfigureAwait(false);
        HandlerCall[] refused = [];
        string warning;
        lock (_gate)
        {
            if (_closed || !worker.IsRunning(call))
            {
                return;
            }

            _workers.Remove(worker);
            _stuck.Add(worker);
            worker.WriteOff();
            if (WorkersAllowed == 0)
            {
                refused = _queue.Clear();
            }
            else if (_queue.Count > 0 && _workers.Count < WorkersAllowed)
            {
                StartWorker();
            }

            warning = Warning(call.Context.What);
        }

        Streams.Add(new WarningRecord(warning));
        Array.ForEach(refused, waiting => waiting.Fail(AllStuck()));
    }

    private string Warning(string what)
    {
        string rest = _stuck.Count <= _maxStuck
            ? $"A new worker replaces it. {_stuck.Count} of at most {_maxStuck} workers are stuck."
            : $"It is not replaced, because {_stuck.Count} workers are stuck and the limit "
                + $"MaxStuckWorkers is {_maxStuck}. {WorkersAllowed} of {_maxWorkers} workers are left.";
        return $"A handler of {what} was stopped but still runs after {StopTimeout.TotalSeconds:0} "
            + $"seconds, because it calls .NET code that PowerShell cannot stop. Its worker is stuck. {rest} "
            + "Call that code with a timeout, or with $RpcContext.CancellationToken.";
    }

    private RpcException AllStuck() => new(
        RpcStatusCode.ResourceExhausted,
        $"The server has no worker left: {_stuck.Count} handlers were stopped and still run.")
    {
        ErrorId = RpcErrorIds.WorkersStuck,
        MayHaveExecuted = false,
    };

    // A thread that is already in a runspace stays there. This happens when a script calls a listener in its
    // own process.
    private HandlerWorker? TryLend<TReply>(HandlerCall<TReply> call)
    {
        if (!call.CanRunHere || Impersonates || Runspace.DefaultRunspace is not null)
        {
            return null;
        }

        HandlerWorker? worker;
        lock (_gate)
        {
            if (_closed || !_idle.TryPeek(out worker) || !worker.CanBeLent)
            {
                return null;
            }

            _idle.Pop();
            worker.Begin(call);
            worker.Lend(Thread.CurrentThread);
        }

        Watch();
        return worker;
    }

    private TReply RunHere<TReply>(HandlerCall<TReply> call, HandlerWorker worker)
    {
        try
        {
            worker.RunHere(call);
        }
        finally
        {
            TakeBack(worker);
        }

        return call.Result();
    }

    private void TakeBack(HandlerWorker worker)
    {
        lock (_gate)
        {
            worker.End();
            worker.TakeBack();
            _memory.NoteUse();
            if (!_closed && !worker.IsEnding)
            {
                if (_queue.TryTake(out HandlerCall? next))
                {
                    worker.Begin(next);
                }
                else if (_retired)
                {
                    _workers.Remove(worker);
                    worker.Retire();
                    return;
                }
                else
                {
                    _idle.Push(worker);
                    return;
                }
            }
        }

        // Wakes the worker's thread for the next call, or to end its pipeline.
        worker.Wake();
    }

    /// <summary>Calls that wait for a worker.</summary>
    public int QueuedCount
    {
        get
        {
            lock (_gate)
            {
                return _queue.Count;
            }
        }
    }

    private void Post(HandlerCall call)
    {
        HandlerWorker? worker;
        HandlerCall? displaced = null;
        lock (_gate)
        {
            if (_closed)
            {
                throw Stopped();
            }

            if (_idle.TryPop(out worker))
            {
                worker.Begin(call);
            }
            else
            {
                if (WorkersAllowed == 0)
                {
                    throw AllStuck();
                }

                if (_workers.Count < WorkersAllowed)
                {
                    // This call waits for the new worker, so the limit of the queue does not apply.
                    call.Place = _queue.Add(call.Context.Client, call);
                    Watch();

                    // Inside the lock, because the worker counts towards the limit from now on.
                    StartWorker();
                }
                else
                {
                    displaced = Enqueue(call);
                }
            }
        }

        worker?.Wake();
        displaced?.Fail(ServerBusy.GivenUp());
    }

    // Returns the call that was removed from the queue to make room, or null.
    private HandlerCall? Enqueue(HandlerCall call)
    {
        call.Place = _queue.TryAdd(
            call.Context.Client, call, call.Context.Clock.Bound, out HandlerCall? displaced)
            ?? throw ServerBusy.Full(_maxWorkers, _queue.Count, "workers");
        Watch();
        return displaced;
    }

    // Checks the deadlines of waiting calls, and of calls on the threads of their connections, because no
    // other thread does.
    private void Watch()
    {
        if (Volatile.Read(ref _watching) == 0 && Interlocked.Exchange(ref _watching, 1) == 0)
        {
            _watch.Change(WatchPeriod, Timeout.InfiniteTimeSpan);
        }
    }

    private void GiveUpLate()
    {
        List<HandlerCall> late = [];
        List<HandlerCall> unserved = [];
        lock (_gate)
        {
            List<HandlerWorker> lent = _workers.FindAll(worker => worker.IsLent);
            late.AddRange(lent.Where(worker => !worker.IsEnding).Select(worker => worker.Call!)
                .Where(call => call.IsOver));
            while (_queue.TryTakeLate(out HandlerCall? waiting))
            {
                unserved.Add(waiting);
            }

            bool goesOn = lent.Count > 0 || _queue.Count > 0;
            Volatile.Write(ref _watching, goesOn ? 1 : 0);
            if (goesOn && !_closed)
            {
                _watch.Change(WatchPeriod, Timeout.InfiniteTimeSpan);
            }
        }

        late.ForEach(GiveUp);
        unserved.ForEach(call => call.Fail(ServerBusy.GivenUp()));
    }
}
