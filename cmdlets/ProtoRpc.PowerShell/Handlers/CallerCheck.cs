using System.Collections.Concurrent;
using System.Collections.ObjectModel;
using System.Management.Automation.Runspaces;
using System.Runtime.ExceptionServices;
using System.Security.Principal;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The scripts that authenticate callers.</summary>
/// <param name="Basic">Checks a name and a password.</param>
/// <param name="Bearer">Checks a bearer token.</param>
/// <param name="Certificate">Checks a client certificate.</param>
internal sealed record CheckScripts(
    ScriptBlock? Basic = null, ScriptBlock? Bearer = null, ScriptBlock? Certificate = null)
{
    /// <summary>The given scripts, with the names of their parameters without <c>Check</c>.</summary>
    public IEnumerable<(string Type, ScriptBlock Script)> Given =>
        new (string Type, ScriptBlock? Script)[]
        {
            (nameof(Basic), Basic), (nameof(Bearer), Bearer), (nameof(Certificate), Certificate),
        }
        .Where(check => check.Script is not null)
        .Select(check => (check.Type, check.Script!));
}

/// <summary>A check that authenticates callers of a listener. Its script can be replaced while checks
/// run.</summary>
/// <param name="authenticationType">The authentication type of the identities that it returns.</param>
/// <param name="streams">Receives the output of the scripts, and the error records of scripts that
/// fail.</param>
internal sealed class CallerCheck(string authenticationType, HandlerStreams streams) : IDisposable
{
    private CallerCheckScript? _script;

    /// <summary>Sets the script for new checks. Checks that are running finish with the previous
    /// script.</summary>
    /// <param name="script">The script.</param>
    /// <param name="environment">The parts of the caller's session that the script uses.</param>
    public void Set(ScriptSource script, HandlerEnvironment environment) => Interlocked
        .Exchange(ref _script, new CallerCheckScript(environment, script, authenticationType, streams))?
        .Dispose();

    /// <inheritdoc cref="CallerCheckScript.CheckAsync"/>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string? name, CancellationToken cancellation)
    {
        while (Volatile.Read(ref _script) is { } script)
        {
            if (script.TryEnter())
            {
                try
                {
                    return await script.CheckAsync(proof, name, cancellation).ConfigureAwait(false);
                }
                finally
                {
                    script.Leave();
                }
            }
        }

        // The listener has stopped, so the caller is rejected.
        return null;
    }

    public void Dispose() => Interlocked.Exchange(ref _script, null)?.Dispose();
}

/// <summary>A script block that authenticates a caller by the presented credentials. It writes a name, or
/// whether the credentials are valid.</summary>
/// <remarks>A check that fails or writes an error rejects the caller: what follows a failed statement must
/// not accept it.</remarks>
internal sealed class CallerCheckScript(
    HandlerEnvironment environment, ScriptSource script, string authenticationType, HandlerStreams streams)
    : IDisposable
{
    private const int MaxChecks = 4;

    // The name of a caller whose token has no name.
    private const string Unnamed = "bearer";

    // Longer names are cut in records: anyone can present one.
    private const int MaxNameLength = 200;

    private static readonly CmdletInfo Command = new("Invoke-RpcCallerCheck", typeof(CallerCheckCommand));

    // Opened by the first checks, because most listeners check no callers.
    private readonly ConcurrentBag<CheckRunspace> _idle = [];
    private readonly SemaphoreSlim _free = new(MaxChecks, MaxChecks);
    private readonly Lock _gate = new();
    private int _running;
    private bool _isEnded;

    /// <summary>Begins a check.</summary>
    /// <returns>False if this was disposed.</returns>
    public bool TryEnter()
    {
        lock (_gate)
        {
            _running += _isEnded ? 0 : 1;
            return !_isEnded;
        }
    }

    /// <summary>Ends what <see cref="TryEnter"/> began.</summary>
    public void Leave()
    {
        lock (_gate)
        {
            _running--;
            if (!_isEnded || _running > 0)
            {
                return;
            }
        }

        Close();
    }

    /// <summary>Rejects new checks. The last running check closes the runspaces.</summary>
    public void Dispose()
    {
        lock (_gate)
        {
            if (_isEnded)
            {
                return;
            }

            _isEnded = true;
            if (_running > 0)
            {
                return;
            }
        }

        Close();
    }

    /// <summary>Runs the script to check a caller.</summary>
    /// <param name="proof">The script's argument: the presented credentials.</param>
    /// <param name="name">The caller's name if the script writes true; null if the credentials have
    /// none.</param>
    /// <param name="cancellation">Cancelled when the caller disconnects.</param>
    /// <returns>The caller; null to reject the caller. If the script fails or writes an error, the caller is
    /// rejected, and the listener gets a record.</returns>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string? name, CancellationToken cancellation)
    {
        await _free.WaitAsync(cancellation).ConfigureAwait(false);
        CheckRunspace? runspace = null;
        try
        {
            runspace = _idle.TryTake(out CheckRunspace? idle)
                ? idle
                : new CheckRunspace(environment.OpenRunspace(), script);
            return await RunAsync(runspace, proof, name, cancellation).ConfigureAwait(false);
        }
        finally
        {
            if (runspace is not null)
            {
                _idle.Add(runspace);
            }

            _free.Release();
        }
    }

    private async Task<IIdentity?> RunAsync(
        CheckRunspace runspace, object proof, string? name, CancellationToken cancellation)
    {
        // A previous caller's check may have begun sessions on other servers. They are cleared, so that this
        // caller cannot use them.
        environment.Forget(runspace.Runspace);
        using Shell shell = Shell.Create();
        shell.Runspace = runspace.Runspace;
        CheckRun run = new(script, () => runspace.Invoke(proof));
        shell.AddCommand(Command).AddParameter(nameof(CallerCheckCommand.Check), run);
        string method = $"{authenticationType}Check";
        string caller = TerminalText.OneLine(name ?? "", MaxNameLength);
        streams.Attach(shell.Streams, error =>
        {
            run.NoteError(error);
            return FailureRecord.OfWritten(error, method, caller);
        });
        using CancellationTokenRegistration gone =
            cancellation.UnsafeRegister(_ => shell.BeginStop(null, null), null);
        try
        {
            await Task.Factory.FromAsync(shell.BeginInvoke(), shell.EndInvoke).ConfigureAwait(false);
            return ToIdentity(run.Output(), name);
        }
        catch (Exception e) when (
            cancellation.IsCancellationRequested && e is (RuntimeException or InvalidOperationException))
        {
            // The caller disconnected, which stopped the script. A script that is stopped before it has begun
            // is an invalid operation to the shell.
            return null;
        }
        catch (Exception e)
        {
            streams.Add(FailureRecord.Create(e, method, caller));
            return null;
        }
    }

    private GenericIdentity? ToIdentity(object? output, string? name) => output switch
    {
        null or false or "" => null,
        true => new GenericIdentity(name ?? Unnamed, authenticationType),
        string user => new GenericIdentity(user, authenticationType),
        _ => throw CheckRun.WrongOutput($"an object of the type {output.GetType().FullName}"),
    };

    private void Close()
    {
        while (_idle.TryTake(out CheckRunspace? runspace))
        {
            runspace.Runspace.Dispose();
        }

        _free.Dispose();
    }

    /// <summary>A runspace with its own block of the script.</summary>
    private sealed class CheckRunspace(Runspace runspace, ScriptSource script)
    {
        private ScriptBlock? _block;

        public Runspace Runspace => runspace;

        /// <summary>Runs the script on the thread of a pipeline in the runspace, in a scope of its own: the
        /// next caller must not find the variables of this one.</summary>
        public Collection<PSObject> Invoke(object proof) => (_block ??= script.Parse()).Invoke(proof);
    }
}

/// <summary>One run of a check's script.</summary>
/// <param name="script">The script.</param>
/// <param name="invoke">Invokes it like a handler: a failing statement ends the script.</param>
internal sealed class CheckRun(ScriptSource script, Func<Collection<PSObject>> invoke)
{
    private Collection<PSObject> _output = [];
    private Exception? _failure;
    private ErrorRecord? _error;
    private int _errors;

    /// <summary>Runs the script, and keeps its exception. Otherwise <c>exit</c> would end the pipeline, and
    /// the shell would wrap other exceptions.</summary>
    public void Run()
    {
        try
        {
            _output = invoke();
        }
        catch (Exception e) when (e is not PipelineStoppedException)
        {
            _failure = HandlerReply.Unwrap(e, [script]);
        }
    }

    /// <summary>Notes an error that the script wrote and did not handle.</summary>
    public void NoteError(ErrorRecord error)
    {
        _error ??= error;
        _errors++;
    }

    /// <summary>The object that the script wrote; null for none.</summary>
    /// <exception cref="Exception">What the script threw.</exception>
    /// <exception cref="RpcException">Internal: the script wrote an error, or several objects.</exception>
    public object? Output()
    {
        if (_failure is not null)
        {
            ExceptionDispatchInfo.Throw(_failure);
        }

        if (_error is not null)
        {
            throw HandlerReply.At(_error, new RpcException(
                RpcStatusCode.Internal,
                $"The check wrote {(_errors == 1 ? "an error" : $"{_errors} errors")} and rejected the "
                + $"caller: {_error}. Correct the check. If the error is expected, use -ErrorAction "
                + "SilentlyContinue, or try and catch with -ErrorAction Stop.", _error.Exception));
        }

        PSObject[] written = [.. _output.Where(item => item is not null)];
        return written.Length < 2 ? written.FirstOrDefault()?.BaseObject
            : throw WrongOutput($"{written.Length} objects");
    }

    /// <summary>The error of a check whose output neither accepts nor rejects the caller.</summary>
    public static RpcException WrongOutput(string what) => new(
        RpcStatusCode.Internal, RpcErrorIds.WrongCheckOutput,
        $"The check wrote {what} and rejected the caller. Write one object: $true or the caller's name to "
        + "accept the caller, $false or nothing to reject it. Pipe other output to Out-Null, or assign it to "
        + "$null.");
}

// Runs a check as the only command of its pipeline. Not public, so that the module does not export it.
[Cmdlet(VerbsLifecycle.Invoke, "RpcCallerCheck")]
internal sealed class CallerCheckCommand : PSCmdlet
{
    [Parameter(Mandatory = true)]
    public CheckRun Check { get; set; } = null!;

    protected override void EndProcessing() => Check.Run();
}
