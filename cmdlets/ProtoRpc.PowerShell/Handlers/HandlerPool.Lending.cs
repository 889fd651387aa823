using System.Management.Automation.Runspaces;

namespace ProtoRpc.PowerShell.Handlers;

// Scripts that were short so far run on the thread of the connection that the call came by, in the runspace
// of a worker that has nothing to do: the worker's own thread waits meanwhile. To wake one thread for the
// script and another for the reply would take several times as long as such a script.
internal sealed partial class HandlerPool
{
    // A connection's thread does not look at the clock while it runs a script.
    private static readonly TimeSpan WatchPeriod = TimeSpan.FromMilliseconds(50);

    private readonly Timer _watch;
    private int _watching;

    // A thread that is in a runspace already, as one whose script calls this listener within the process,
    // stays in it.
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

        // To the next call, or to the end of its pipeline.
        worker.Wake();
    }
}
