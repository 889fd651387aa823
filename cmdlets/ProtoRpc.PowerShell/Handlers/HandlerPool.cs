using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Calls;

namespace ProtoRpc.PowerShell;

/// <summary>The workers of a listener: threads with a runspace each, made when they are needed, up to a limit.</summary>
internal sealed class HandlerPool : IDisposable
{
    // How long a stopped worker may take to end. One that calls into .NET cannot be stopped and is left alone;
    // its thread does not keep the process alive.
    private static readonly TimeSpan EndTimeout = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly List<HandlerWorker> _workers = [];
    private readonly Stack<HandlerWorker> _idle = [];
    private readonly LinkedList<HandlerCall> _queue = [];
    private readonly int _maxWorkers;
    private readonly int _maxQueued;
    private bool _closed;

    public HandlerPool(HandlerEnvironment environment, IReadOnlyList<ScriptSource> scripts, HandlerStreams streams,
        int maxWorkers, int maxQueued)
    {
        Environment = environment;
        Scripts = scripts;
        Streams = streams;
        _maxWorkers = maxWorkers;
        _maxQueued = maxQueued;
    }

    public HandlerEnvironment Environment { get; }

    public IReadOnlyList<ScriptSource> Scripts { get; }

    public HandlerStreams Streams { get; }

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

    /// <summary>Makes the first worker, so that a module or an initialization that fails shows at once.</summary>
    public void Start()
    {
        HandlerWorker first = AddWorker();
        first.WaitUntilReady();
    }

    /// <summary>Runs a script for a call.</summary>
    public ValueTask<IMessage> HandleAsync(RpcCallContext context, IMessage request, ScriptSource script)
    {
        // A connection with a thread of its own waits on it: that is cheaper than coming back through the pool.
        bool blocking = !Thread.CurrentThread.IsThreadPoolThread;
        HandlerCall call = new(context, request, script, blocking);
        Post(call);
        return blocking ? new ValueTask<IMessage>(call.Wait(GiveUp)) : call.WaitAsync(GiveUp);
    }

    /// <summary>The next call for a worker; blocks until there is one.</summary>
    /// <returns>Null when the worker shall end its pipeline.</returns>
    public HandlerCall? Take(HandlerWorker worker)
    {
        lock (_gate)
        {
            worker.End();
            if (_closed || worker.IsStopping)
            {
                return null;
            }

            if (_queue.First is { } first)
            {
                _queue.RemoveFirst();
                worker.Begin(first.Value);
                return first.Value;
            }

            _idle.Push(worker);
        }

        return worker.WaitForCall();
    }

    /// <summary>Notes that a worker's thread has ended; with the last one end the calls that wait for one.</summary>
    public void Remove(HandlerWorker worker, RpcException why)
    {
        HandlerCall[] queued = [];
        lock (_gate)
        {
            _workers.Remove(worker);
            if (_workers.Count == 0)
            {
                queued = [.. _queue];
                _queue.Clear();
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
            queued = [.. _queue];
            _queue.Clear();
            _idle.Clear();
        }

        Array.ForEach(queued, call => call.Fail(Stopped()));
        Array.ForEach(workers, worker => worker.Close());
        long start = Stopwatch.GetTimestamp();
        foreach (HandlerWorker worker in workers)
        {
            TimeSpan left = EndTimeout - Stopwatch.GetElapsedTime(start);
            worker.Join(left > TimeSpan.Zero ? left : TimeSpan.Zero);
        }
    }

    private static RpcException Stopped() =>
        new(RpcStatusCode.Unavailable, "The listener is stopping.") { MayHaveExecuted = false };

    private void Post(HandlerCall call)
    {
        HandlerWorker? worker = null;
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
                Enqueue(call);
                if (_workers.Count < _maxWorkers)
                {
                    // Outside of the lock it would be too late to count it.
                    worker = new HandlerWorker(this);
                    _workers.Add(worker);
                    worker.Start();
                    return;
                }
            }
        }

        worker?.Wake();
    }

    private void Enqueue(HandlerCall call)
    {
        if (_queue.Count >= _maxQueued)
        {
            throw new RpcException(
                RpcStatusCode.ResourceExhausted,
                $"The server is too busy: {_queue.Count} calls wait for its {_maxWorkers} workers already.")
            {
                ErrorId = "ServerBusy",
            };
        }

        _queue.AddLast(call);
    }

    private HandlerWorker AddWorker()
    {
        HandlerWorker worker = new(this);
        lock (_gate)
        {
            _workers.Add(worker);
        }

        worker.Start();
        return worker;
    }

    // The caller is gone or has stopped waiting: the script is stopped, but nobody waits for its end.
    private void GiveUp(HandlerCall call)
    {
        HandlerWorker? running;
        lock (_gate)
        {
            _queue.Remove(call);
            running = _workers.Find(worker => worker.IsRunning(call));
            running?.BeginStop();
        }

        call.Fail(call.Context.Aborted.IsCancellationRequested
            ? new RpcException(RpcStatusCode.Cancelled, "The handler was stopped before it ended: the listener stops, or the call was given up.")
            : new RpcException(RpcStatusCode.DeadlineExceeded, "The deadline passed before the handler ended."));
    }
}
