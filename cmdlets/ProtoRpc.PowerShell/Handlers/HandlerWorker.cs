using System.Collections.ObjectModel;
using System.Diagnostics;
using System.Management.Automation.Runspaces;
using System.Runtime.CompilerServices;
using ProtoRpc.Protocols.Native;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A thread with a runspace. One long pipeline in it runs the handlers of all calls.</summary>
/// <remarks>
/// Streams of handlers only work in a pipeline. All calls share one, because a new pipeline costs a hundred
/// times as much as invoking a block. Stopping a call stops the pipeline; the worker then begins another one.
/// </remarks>
internal sealed class HandlerWorker
{
    private const int SpinCount = 20;

    private static readonly CmdletInfo LoopCommand = new("Invoke-RpcHandlerLoop", typeof(HandlerLoopCommand));
    private static readonly CmdletInfo SinkCommand = new("Send-RpcReply", typeof(ReplySinkCommand));

    private readonly HandlerPool _pool;
    private readonly bool _isFirst;
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _wake = new(false, SpinCount);
    private readonly TaskCompletionSource _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Dictionary<ScriptSource, ScriptBlock> _blocks = [];

    // The block's output is sent immediately only if another command follows in the pipeline. The block and
    // its arguments are in $args, because each scope has its own $args: the block sees no extra variables.
    private readonly ScriptBlock _streaming =
        ScriptBlock.Create("& $args[2] $args[3] | & $args[0] -Send $args[1]");
    private readonly ScriptBlock _streamingWithContext =
        ScriptBlock.Create("& $args[2] $args[3] $args[4] | & $args[0] -Send $args[1]");

    private readonly Lock _shellGate = new();

    private volatile Runspace? _runspace;
    private Shell? _shell;
    private Thread? _stopper;
    private HandlerCall? _call;
    private volatile bool _stopping;
    private volatile bool _closed;
    private PSVariable? _requestVariable;
    private PSVariable? _contextVariable;
    private PSVariable? _methodVariable;
    private PSVariable? _bytesVariable;
    private PSVariable? _nextVariable;
    private HandlerVariables? _variables;
    private HandlerCall? _running;

    // The thread that runs scripts in the runspace.
    private volatile Thread _runner;

    // Null before the first pipeline, and if this version of the shell does not support other threads.
    private PipelineThread? _pipelineThread;

    /// <param name="pool">The pool of the worker.</param>
    /// <param name="isFirst">Whether another thread waits until the worker is ready, and reports why it fails
    /// to start.</param>
    public HandlerWorker(HandlerPool pool, bool isFirst)
    {
        _pool = pool;
        _isFirst = isFirst;
        _thread = new Thread(Run) { IsBackground = true, Name = "ProtoRpc handler" };
        _runner = _thread;
        IsStoppedHere = () => _stopping && Thread.CurrentThread == _runner;
    }

    /// <summary>The context that the running script sees.</summary>
    public RpcHandlerContext? Shown => _variables?.Context;

    /// <summary>Stops the listener of the worker; returns at once.</summary>
    public Action? StopListener => _pool.StopListener;

    /// <summary>Whether the current thread belongs to this worker and must stop. Long .NET code polls it,
    /// because the shell can only stop scripts.</summary>
    public Func<bool> IsStoppedHere { get; }

    public void Start() => _thread.Start();

    /// <summary>Waits until the worker can run calls. Throws if its initialization failed.</summary>
    public void WaitUntilReady() => _ready.Task.GetAwaiter().GetResult();

    /// <summary>Waits for the thread to end.</summary>
    /// <returns>False if it has not ended in time.</returns>
    public bool Join(TimeSpan timeout) => _thread.Join(timeout);

    // The pool's lock is held for the next three methods, so that stopping a call never stops the next one.
    public void Begin(HandlerCall call) => _call = call;

    public void End() => _call = null;

    public bool IsRunning(HandlerCall call) => ReferenceEquals(_call, call);

    /// <summary>Whether the current thread runs a script of the call for this worker.</summary>
    public bool IsRunningHere(RpcPeerContext context) =>
        _runner == Thread.CurrentThread && ReferenceEquals(_running?.Context, context);

    public void BeginStop()
    {
        lock (_shellGate)
        {
            _stopping = true;
            if (_shell is { } shell)
            {
                // The shell's own BeginStop uses a foreground thread. If the script cannot be stopped, that
                // thread would keep the process alive.
                _stopper ??= InBackground("ProtoRpc handler's stop", shell.Stop);
            }
        }
    }

    private static Thread InBackground(string name, Action action)
    {
        Thread thread = new(() =>
        {
            try
            {
                action();
            }
            catch (Exception)
            {
                // The script ended before it was stopped. An unhandled exception of a thread would end the
                // process.
            }
        })
        {
            IsBackground = true,
            Name = name,
        };
        thread.Start();
        return thread;
    }

    /// <summary>Ends the worker: immediately if it is idle, otherwise by stopping its script.</summary>
    public void Close()
    {
        Retire();
        BeginStop();
    }

    /// <summary>Ends the worker: immediately if it is idle, otherwise after its call.</summary>
    public void Retire()
    {
        _closed = true;
        if (!IsLent)
        {
            // A lent runspace is in use; the worker is woken when the other thread returns it.
            _wake.Set();
        }
    }

    /// <summary>Ends the worker if the shell stops its pipeline. The shell does so if the runspace closes,
    /// and with every open runspace when the process ends. It waits for the pipeline, for ever if the worker
    /// waits for a call.</summary>
    public void EndWithPipeline()
    {
        // A worker that stops a call goes on in another pipeline.
        if (!_stopping)
        {
            _pool.Withdraw(this);
        }
    }

    /// <summary>Ends the worker's thread when the script that could not be stopped returns.</summary>
    /// <remarks>When the process ends, the shell closes every open runspace and waits for each. This runspace
    /// must already be closing, or the process would never end.</remarks>
    public void WriteOff()
    {
        _closed = true;
        if (_runspace is { } runspace)
        {
            InBackground("ProtoRpc handler's end", runspace.Close);
        }
    }

    /// <summary>Wakes the worker's thread, so that it runs its call.</summary>
    public void Wake() => _wake.Set();

    public HandlerCall? WaitForCall()
    {
        _wake.Wait();
        _wake.Reset();
        return _closed ? null : _call;
    }

    /// <summary>The body of the long pipeline.</summary>
    public void RunCalls(PSCmdlet cmdlet)
    {
        if (_requestVariable is null)
        {
            Prepare(cmdlet);
        }

        _pipelineThread = PipelineThread.From(_runspace!);
        _ready.TrySetResult();
        while (_pool.Take(this) is { } call)
        {
            RunCall(call);
        }
    }

    /// <summary>Runs a script for the current call. A script inside another one has its own
    /// variables.</summary>
    /// <param name="script">The script.</param>
    /// <param name="variables">The variables that it sees.</param>
    /// <param name="send">Receives each output object immediately; null to return all of them at the
    /// end.</param>
    public Collection<PSObject> Invoke(
        ScriptSource script, HandlerVariables variables, Action<PSObject>? send = null)
    {
        HandlerVariables? outer = _variables;
        SetVariables(variables);
        try
        {
            // An inner script already runs under the outer script's impersonation.
            Collection<PSObject> output = _pool.Impersonates && outer is null
                ? InvokeAsCaller(script, variables, send)
                : InvokeBlock(script, variables, send);

            // Objects of a message that are not made for a stopped call only end their statement. The script
            // goes on until PowerShell stops it, and can end before, without its output: that is no reply.
            return _stopping ? throw new PipelineStoppedException() : output;
        }
        catch
        {
            (variables.Context as RpcMethodContext)?.FlushOfFailure();
            throw;
        }
        finally
        {
            SetVariables(outer);
        }
    }

    private void Run()
    {
        try
        {
            Runspace runspace = RunspaceFactory.CreateRunspace(_pool.Environment.State);
            try
            {
                runspace.ThreadOptions = PSThreadOptions.UseCurrentThread;
                runspace.Open();
                _runspace = runspace;
                while (!_closed)
                {
                    RunPipeline(runspace);
                }
            }
            finally
            {
                // A runspace that another thread closes at the moment would never be closed after Dispose:
                // the shell frees what the other thread still needs.
                if (runspace.RunspaceStateInfo.State != RunspaceState.Closing)
                {
                    runspace.Dispose();
                }
            }
        }
        catch (Exception e)
        {
            // If the first worker fails to start, the listener fails to start. If a later worker fails and no
            // other exists, the calls that wait for it fail without the reason, so the error is written to
            // the records.
            if (!_ready.TrySetException(e) || !_isFirst)
            {
                _pool.Streams.Add(new ErrorRecord(
                    e, RpcErrorIds.HandlerWorkerFailed, ErrorCategory.NotSpecified, this));
            }
        }
        finally
        {
            RpcException ended = new(RpcStatusCode.Internal, "The worker of the handler ended.");
            _call?.Fail(ended);
            _pool.Remove(this, ended);
        }
    }

    private void RunPipeline(Runspace runspace)
    {
        using Shell shell = Shell.Create();
        shell.Runspace = runspace;
        shell.AddCommand(LoopCommand).AddParameter(nameof(HandlerLoopCommand.Worker), this);
        _pool.Streams.Attach(shell.Streams, error => FailureRecord.OfWritten(error, _running?.Context));
        lock (_shellGate)
        {
            _stopping = false;
            _shell = shell;
        }

        try
        {
            shell.Invoke();
        }
        catch (Exception e) when (
            e is PipelineStoppedException || (e is InvalidOperationException && _stopping))
        {
            // A call was stopped, or the worker is closing. A pipeline that is stopped before it has begun is
            // an invalid operation to the shell.
        }
        finally
        {
            Thread? stopper;
            lock (_shellGate)
            {
                _shell = null;
                stopper = _stopper;
                _stopper = null;
            }

            // The stopping thread ends with the pipeline, and uses the shell until then.
            stopper?.Join();
        }
    }

    private void Prepare(PSCmdlet cmdlet)
    {
        cmdlet.SessionState.Path.SetLocation(WildcardPattern.Escape(_pool.Environment.Location));
        foreach (PSModuleInfo module in _pool.Environment.Modules)
        {
            using Shell shell = Shell.Create(RunspaceMode.CurrentRunspace);
            HandlerEnvironment.AddImport(shell, module).Invoke();
        }

        foreach ((string name, ScriptSource source) in _pool.Environment.Functions)
        {
            if (name.Length == 0)
            {
                cmdlet.InvokeCommand.InvokeScript(useLocalScope: false, source.Parse(), input: null);
            }
            else
            {
                cmdlet.InvokeProvider.Item.Set($"function:global:{name}", source.Parse());
            }
        }

        if (_pool.Environment.Initialization is { } initialization)
        {
            cmdlet.InvokeCommand.InvokeScript(useLocalScope: false, initialization.Parse(), input: null);
        }

        if (_isFirst)
        {
            _pool.Environment.Unset.Compare(cmdlet.SessionState.PSVariable.Get);
        }

        foreach (ScriptSource script in _pool.Scripts)
        {
            script.Bind(_blocks);
        }

        _contextVariable = Variable(cmdlet, "RpcContext");
        _methodVariable = Variable(cmdlet, "RpcMethod");
        _nextVariable = Variable(cmdlet, "Next");
        _bytesVariable = Variable(cmdlet, "Bytes");
        _requestVariable = Variable(cmdlet, "Request");
    }

    private static PSVariable Variable(PSCmdlet cmdlet, string name)
    {
        cmdlet.SessionState.PSVariable.Set(name, null);
        return cmdlet.SessionState.PSVariable.Get(name);
    }

    private Collection<PSObject> InvokeAsCaller(
        ScriptSource script, HandlerVariables variables, Action<PSObject>? send)
    {
        Collection<PSObject> output = [];
        _running!.Context.Impersonate(() => output = InvokeBlock(script, variables, send));
        return output;
    }

    private Collection<PSObject> InvokeBlock(
        ScriptSource script, HandlerVariables variables, Action<PSObject>? send)
    {
        ScriptBlock block = _blocks[script];
        return (script.ParameterCount > 1, send) switch
        {
            (false, null) => block.Invoke(variables.Request),
            (true, null) => block.Invoke(variables.Request, variables.Context),
            (false, _) => _streaming.Invoke(SinkCommand, send, block, variables.Request),
            (true, _) => _streamingWithContext.Invoke(
                SinkCommand, send, block, variables.Request, variables.Context),
        };
    }

    private void SetVariables(HandlerVariables? variables)
    {
        _variables = variables;
        _requestVariable!.Value = variables?.Request;
        _bytesVariable!.Value = variables?.Request as byte[];
        _contextVariable!.Value = variables?.Context;
        _methodVariable!.Value = variables?.Method;
        _nextVariable!.Value = variables?.Next;
    }

    private void RunCall(HandlerCall call)
    {
        long start = Stopwatch.GetTimestamp();
        Activity? outer = Activity.Current;
        if (outer != call.Activity)
        {
            // Calls of the script belong to the trace of its caller.
            Activity.Current = call.Activity;
        }

        try
        {
            // The previous caller's handler may have begun sessions on other servers. They are cleared, so
            // that this caller cannot use them.
            _pool.Environment.Forget(_runspace!);
            _running = call;
            call.Run(this);
        }
        catch (PipelineStoppedException) when (IsEnding)
        {
            throw;
        }
        catch (Exception e)
        {
            call.Fail(Explain(HandlerReply.Unwrap(e, _pool.Scripts), call));
        }
        finally
        {
            _running = null;
            if (Activity.Current != outer)
            {
                Activity.Current = outer;
            }

            call.Script.Pace.Record(start);
        }
    }

    private static Exception Explain(Exception failure, HandlerCall call)
    {
        HandlerReply.Locate(failure, call.Script);
        try
        {
            if (failure is RpcException { Details.Count: > 0 } rpc)
            {
                ErrorDetails.ToMessages(rpc, (call.Context as RpcServerCallContext)?.Method.Service.Schema);
            }

            if (failure is RpcException extended && HeaderExtensions.AreSentWith(extended))
            {
                ErrorDetails.ToExtensions(
                    extended, (call.Context as RpcServerCallContext)?.Method.Service.Schema);
            }

            return failure;
        }
        catch (RpcException e)
        {
            return new RpcException(
                RpcStatusCode.Internal,
                $"The details or extensions of '{failure.Message}' cannot be sent: {e.Message}", failure);
        }
    }

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

// Runs as the only command of a worker's pipeline. Not public, so that the module does not export it.
[Cmdlet(VerbsLifecycle.Invoke, "RpcHandlerLoop")]
internal sealed class HandlerLoopCommand : PSCmdlet
{
    [Parameter(Mandatory = true)]
    public HandlerWorker Worker { get; set; } = null!;

    protected override void EndProcessing() => Worker.RunCalls(this);

    protected override void StopProcessing() => Worker.EndWithPipeline();
}

// Sends the replies of a streaming handler: the last command of its pipeline. Not public, so that the module
// does not export it.
[Cmdlet(VerbsCommunications.Send, "RpcReply")]
internal sealed class ReplySinkCommand : PSCmdlet
{
    [Parameter(Mandatory = true)]
    public Action<PSObject> Send { get; set; } = null!;

    [Parameter(ValueFromPipeline = true)]
    [AllowNull]
    public PSObject? InputObject { get; set; }

    protected override void ProcessRecord()
    {
        if (InputObject is not null)
        {
            Send(InputObject);
        }
    }
}

/// <summary>Sets the thread that runs scripts in a pipeline.</summary>
/// <remarks>If another thread invokes a script block, the shell passes the block to the pipeline's thread as
/// an event, which takes milliseconds. The shell asks the pipeline which thread that is.</remarks>
internal sealed class PipelineThread
{
    private const string Running =
        "System.Management.Automation.Runspaces.Pipeline, System.Management.Automation";

    private const string Base =
        "System.Management.Automation.Runspaces.PipelineBase, System.Management.Automation";

    private readonly object _pipeline;

    private PipelineThread(object pipeline) => _pipeline = pipeline;

    /// <summary>The running pipeline of a runspace. Null if none is running, or if this version of the shell
    /// lacks the internal members.</summary>
    public static PipelineThread? From(Runspace runspace)
    {
        try
        {
            if (GetPipeline(runspace) is not { } running)
            {
                return null;
            }

            PipelineThread pipeline = new(running);
            pipeline.Set(Thread.CurrentThread);
            return pipeline;
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException or BadImageFormatException)
        {
            return null;
        }
    }

    /// <summary>Makes a thread the pipeline's thread.</summary>
    public void Set(Thread thread) => SetThread(_pipeline, thread);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "GetCurrentlyRunningPipeline")]
    [return: UnsafeAccessorType(Running)]
    private static extern object? GetPipeline(Runspace runspace);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_NestedPipelineExecutionThread")]
    private static extern void SetThread([UnsafeAccessorType(Base)] object pipeline, Thread thread);
}
