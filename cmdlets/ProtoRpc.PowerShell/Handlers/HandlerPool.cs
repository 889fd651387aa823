using System.Diagnostics;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.Calls;
using ProtoRpc.Calls.Raw;

namespace ProtoRpc.PowerShell;

/// <summary>The workers of a listener: threads with a runspace each,
/// made when they are needed, up to a limit.</summary>
internal sealed class HandlerPool : IDisposable
{
    // How long a stopped worker may take to end. One that calls into .NET cannot be stopped
    // and is left alone; its thread does not keep the process alive.
    private static readonly TimeSpan EndTimeout = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly List<HandlerWorker> _workers = [];
    private readonly Stack<HandlerWorker> _idle = [];
    private readonly LinkedList<HandlerCall> _queue = [];
    private readonly int _maxWorkers;
    private readonly int _maxQueued;
    private bool _closed;

    public HandlerPool(HandlerEnvironment environment, HandlerStreams streams, int maxWorkers, int maxQueued)
    {
        Environment = environment;
        Streams = streams;
        _maxWorkers = maxWorkers;
        _maxQueued = maxQueued;
    }

    public HandlerEnvironment Environment { get; }

    /// <summary>What the workers run; complete before the first of them is made.</summary>
    public HashSet<ScriptSource> Scripts { get; } = [];

    /// <summary>Whether there are filters, so that a handler may be called from within a worker.</summary>
    public bool HasFilters { get; init; }

    /// <summary>Whether scripts run as the caller.</summary>
    public bool Impersonates { get; init; }

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

    /// <summary>Makes the first worker, so that a module or an initialization
    /// that fails shows at once.</summary>
    public void Start()
    {
        HandlerWorker first = AddWorker();
        first.WaitUntilReady();
    }

    /// <summary>Runs a handler for a call, or a filter that passes it on.</summary>
    public ValueTask<IMessage> HandleAsync(
        RpcCallContext context, IMessage request, ScriptSource script, RpcHandler? next = null)
    {
        bool blocking = IsBlocking;
        MethodCall call = new(context, request, script, next, blocking);
        return HasFilters && FindWorkerHere(context) is { } worker
            ? new ValueTask<IMessage>(call.Execute(worker))
            : HandleAsync(call, blocking);
    }

    /// <summary>Runs a handler for a call of a method that streams.</summary>
    public async ValueTask HandleAsync(RpcCallContext context, RpcServerStream stream, ScriptSource script)
    {
        bool blocking = IsBlocking;
        StreamCall call = new(context, stream, script, blocking);
        if (HasFilters && FindWorkerHere(context) is { } worker)
        {
            call.Execute(worker);
        }
        else
        {
            await HandleAsync(call, blocking).ConfigureAwait(false);
        }
    }

    /// <summary>Runs a handler for a call of the raw layer, or a filter that passes it on;
    /// the failure is shown here, for the caller sees a bare return code.</summary>
    public async ValueTask<ReadOnlyMemory<byte>?> HandleAsync(
        RpcRawContext context, ReadOnlyMemory<byte> request, ScriptSource script, RpcRawHandler? next = null)
    {
        bool blocking = IsBlocking;
        RawCall call = new(context, request, script, next, blocking);
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
            Streams.Add(new ErrorRecord(
                e, "RawHandlerFailed", ErrorCategory.NotSpecified, context.InterfaceId));
            throw;
        }
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

    /// <summary>Notes that a worker's thread has ended;
    /// with the last one end the calls that wait for one.</summary>
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

    // A connection with a thread of its own waits on it: that is cheaper than coming back through the pool.
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
        Post(call);
        return blocking ? new ValueTask<TReply>(call.Wait(GiveUp)) : call.WaitAsync(GiveUp);
    }

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
            ? new RpcException(
                RpcStatusCode.Cancelled,
                "The handler was stopped before it ended: the listener stops, or the call was given up.")
            : new RpcException(
                RpcStatusCode.DeadlineExceeded, "The deadline passed before the handler ended."));
    }
}
