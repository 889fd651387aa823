using System.Collections.ObjectModel;
using System.Diagnostics;
using System.Management.Automation;
using System.Management.Automation.Runspaces;
using ProtoRpc.Protocols.Native;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A thread with a runspace, in which one long pipeline runs
/// a handler for call after call.</summary>
/// <remarks>
/// The pipeline is there so that streams work, and is one for all calls because a new one costs
/// a hundred times as much as the call of a block. A call that is given up stops the pipeline;
/// the worker then begins another.
/// </remarks>
internal sealed partial class HandlerWorker
{
    private const int SpinCount = 20;

    private static readonly CmdletInfo LoopCommand = new("Invoke-RpcHandlerLoop", typeof(HandlerLoopCommand));
    private static readonly CmdletInfo SinkCommand = new("Send-RpcReply", typeof(ReplySinkCommand));

    private readonly HandlerPool _pool;
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _wake = new(false, SpinCount);
    private readonly TaskCompletionSource _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Dictionary<ScriptSource, ScriptBlock> _blocks = [];

    // What a block outputs leaves it at once only when something stands behind it in a pipeline.
    // In $args, which every scope has of its own, so that the block finds no variables of ours.
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

    public HandlerWorker(HandlerPool pool)
    {
        _pool = pool;
        _thread = new Thread(Run) { IsBackground = true, Name = "ProtoRpc handler" };
        _runner = _thread;
        IsStoppedHere = () => _stopping && Thread.CurrentThread == _runner;
    }

    /// <summary>What the script that runs now sees as its context.</summary>
    public RpcHandlerContext? Shown => _variables?.Context;

    /// <summary>Whether its pipeline is being stopped.</summary>
    public bool IsStopping => _stopping;

    /// <summary>Whether this very thread is its, and shall come to an end: what is not a script has to
    /// ask.</summary>
    public Func<bool> IsStoppedHere { get; }

    public void Start() => _thread.Start();

    /// <summary>Waits until it takes calls; throws what kept it from that.</summary>
    public void WaitUntilReady() => _ready.Task.GetAwaiter().GetResult();

    /// <summary>False when it has not ended in time.</summary>
    public bool Join(TimeSpan timeout) => _thread.Join(timeout);

    // The next three run under the pool's lock, so that no call is stopped in the place of another.
    public void Begin(HandlerCall call) => _call = call;

    public void End() => _call = null;

    public bool IsRunning(HandlerCall call) => ReferenceEquals(_call, call);

    /// <summary>Whether this very thread is its, and runs a script for that call.</summary>
    public bool IsRunningHere(RpcPeerContext context) =>
        _runner == Thread.CurrentThread && ReferenceEquals(_running?.Context, context);

    public void BeginStop()
    {
        lock (_shellGate)
        {
            _stopping = true;
            if (_shell is { } shell)
            {
                // The shell's own BeginStop waits in a foreground thread, which keeps the process from ending
                // where the script cannot be stopped.
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
                // The script ended by itself meanwhile; what a thread throws would end the process.
            }
        })
        {
            IsBackground = true,
            Name = name,
        };
        thread.Start();
        return thread;
    }

    /// <summary>Ends it: immediately if it is idle, otherwise by stopping what runs.</summary>
    public void Close()
    {
        _closed = true;
        if (!IsLent)
        {
            // Else it is woken when it comes back: its runspace is in use until then.
            _wake.Set();
        }

        BeginStop();
    }

    /// <summary>Ends it while it is idle.</summary>
    public void Retire()
    {
        _closed = true;
        _wake.Set();
    }

    /// <summary>Ends its thread when the script that could not be stopped returns by itself.</summary>
    /// <remarks>At its end the shell closes every runspace that is open, and waits for each: this one is
    /// closing by then, or the process would never end.</remarks>
    public void WriteOff()
    {
        _closed = true;
        if (_runspace is { } runspace)
        {
            InBackground("ProtoRpc handler's end", runspace.Close);
        }
    }

    /// <summary>Lets it see the call that it was given.</summary>
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

        _pipelineThread = PipelineThread.Of(_runspace!);
        _ready.TrySetResult();
        while (_pool.Take(this) is { } call)
        {
            RunCall(call);
        }
    }

    /// <summary>Runs a script for the call that runs now;
    /// one within another sees variables of its own.</summary>
    /// <param name="script">The script.</param>
    /// <param name="variables">What it finds in its variables.</param>
    /// <param name="send">What takes each object that it outputs, when it does;
    /// null to have them all at the end.</param>
    public Collection<PSObject> Invoke(
        ScriptSource script, HandlerVariables variables, Action<PSObject>? send = null)
    {
        HandlerVariables? outer = _variables;
        SetVariables(variables);
        try
        {
            // The innermost script is within the outermost one's impersonation already.
            return _pool.Impersonates && outer is null
                ? InvokeAsCaller(script, variables, send)
                : InvokeBlock(script, variables, send);
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
            using Runspace runspace = RunspaceFactory.CreateRunspace(_pool.Environment.State);
            runspace.ThreadOptions = PSThreadOptions.UseCurrentThread;
            runspace.Open();
            _runspace = runspace;
            while (!_closed)
            {
                RunPipeline(runspace);
            }
        }
        catch (Exception e)
        {
            // The first worker's failure is the listener's; a later one fails the calls that wait for it.
            if (!_ready.TrySetException(e))
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
        _pool.Streams.Attach(shell.Streams);
        lock (_shellGate)
        {
            _stopping = false;
            _shell = shell;
        }

        try
        {
            shell.Invoke();
        }
        catch (PipelineStoppedException)
        {
            // A call was given up, or the worker is closed.
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

            // It ends with the pipeline, and needs the shell until then.
            stopper?.Join();
        }
    }

    private void Prepare(PSCmdlet cmdlet)
    {
        cmdlet.SessionState.Path.SetLocation(WildcardPattern.Escape(_pool.Environment.Location));
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

    private void RunCall(HandlerCall call)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            _running = call;
            call.Run(this);
        }
        catch (PipelineStoppedException) when (_stopping)
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
            call.Script.Pace.Note(start);
        }
    }

    private static Exception Explain(Exception failure, HandlerCall call)
    {
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
}
