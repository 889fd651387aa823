using System.Management.Automation;
using System.Management.Automation.Runspaces;

namespace ProtoRpc.PowerShell.Handlers;

// Its runspace on the thread of a connection, while its own thread waits within its long pipeline. The pool
// sees to it that one thread at a time is in the runspace.
internal sealed partial class HandlerWorker
{
    // The thread that runs scripts.
    private volatile Thread _runner;

    // Null before the first pipeline, and where the shell does not let other threads in.
    private PipelineThread? _pipelineThread;

    /// <summary>Whether another thread can run scripts for it.</summary>
    public bool CanBeLent => _pipelineThread is not null;

    /// <summary>Whether another thread runs a script for it.</summary>
    public bool IsLent => _runner != _thread;

    /// <summary>Whether its pipeline, or its thread, is to end.</summary>
    public bool IsEnding => _stopping || _closed;

    /// <summary>The call that it was given.</summary>
    public HandlerCall? Call => _call;

    // The next two run under the pool's lock.
    public void Lend(Thread thread) => _runner = thread;

    public void TakeBack() => _runner = _thread;

    /// <summary>Runs a call on this very thread, to which it was lent.</summary>
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
            // The call was given up, or the listener stops.
            call.Fail(call.GivenUp());
        }
        finally
        {
            _pipelineThread.Set(_thread);
            Runspace.DefaultRunspace = null;
        }
    }
}
