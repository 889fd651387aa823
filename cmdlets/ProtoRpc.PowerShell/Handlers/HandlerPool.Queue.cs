using ProtoRpc.Server.Admission;

namespace ProtoRpc.PowerShell.Handlers;

// The queue of calls that wait for a worker.
internal sealed partial class HandlerPool
{
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
