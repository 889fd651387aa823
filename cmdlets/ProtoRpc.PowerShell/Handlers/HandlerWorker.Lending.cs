using System.Management.Automation;
using System.Management.Automation.Runspaces;

namespace ProtoRpc.PowerShell.Handlers;

// Lends the runspace to the thread of a connection, while the worker's own thread waits in its pipeline. The
// pool ensures that only one thread at a time uses the runspace.
internal sealed partial class HandlerWorker
{
    // The thread that runs scripts in the runspace.
    private volatile Thread _runner;

    // Null before the first pipeline, and if this version of the shell does not support other threads.
    private PipelineThread? _pipelineThread;

    /// <summary>Whether another thread can use the runspace.</summary>
    public bool CanBeLent => _pipelineThread is not null;

    /// <summary>Whether another thread uses the runspace now.</summary>
    public bool IsLent => _runner != _thread;

    /// <summary>Whether the worker's pipeline or thread is ending.</summary>
    public bool IsEnding => _stopping || _closed;

    /// <summary>The current call; null for none.</summary>
    public HandlerCall? Call => _call;

    // The pool's lock is held for the next two methods.
    public void Lend(Thread thread) => _runner = thread;

    public void TakeBack() => _runner = _thread;

    /// <summary>Runs a call on the current thread, to which the runspace was lent.</summary>
    public void RunHere(HandlerCall call)
    {
        Runspace.DefaultRunspace = _runspace;
        _pipelineThread!.Set(Thread.CurrentThread);
        try
        {
            RunCall(call);
        }
        catch (PipelineStoppedException)
        {
            // The call was cancelled, or the listener is stopping.
            call.Fail(call.GivenUp());
        }
        finally
        {
            _pipelineThread.Set(_thread);
            Runspace.DefaultRunspace = null;
        }
    }
}
