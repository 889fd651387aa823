using System.Management.Automation.Runspaces;

namespace ProtoRpc.PowerShell.Handlers;

// Scripts with short runs run on the connection's thread, in the runspace of an idle worker whose own thread
// waits meanwhile. Waking one thread for the script and another for the reply would take several times as
// long as a short script.
internal sealed partial class HandlerPool
{
    // How often the deadlines are checked: a connection's thread cannot check them while it runs a script.
    private static readonly TimeSpan WatchPeriod = TimeSpan.FromMilliseconds(50);

    private readonly Timer _watch;
    private int _watching;

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
}
