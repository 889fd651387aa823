using System.Collections.Concurrent;
using System.Management.Automation;
using System.Management.Automation.Runspaces;
using System.Security.Principal;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A script block that authenticates a caller by the presented credentials. It returns a name, or
/// whether the credentials are valid.</summary>
internal sealed class CallerCheckScript(
    HandlerEnvironment environment, ScriptSource script, string authenticationType,
    Action<ErrorRecord> failed)
    : IDisposable
{
    private const int MaxChecks = 4;

    private readonly string _script = script.Parse().ToString();

    // Opened by the first checks, because most listeners check no callers.
    private readonly ConcurrentBag<Runspace> _idle = [];
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
    /// <param name="name">The caller's name if the script returns true.</param>
    /// <param name="cancellation">Cancelled when the caller disconnects.</param>
    /// <returns>The caller; null to reject the caller. If the script fails, the caller is rejected, and the
    /// listener gets a record.</returns>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string name, CancellationToken cancellation)
    {
        await _free.WaitAsync(cancellation).ConfigureAwait(false);
        Runspace? runspace = null;
        try
        {
            runspace = _idle.TryTake(out Runspace? idle) ? idle : environment.OpenRunspace();
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
        Runspace runspace, object proof, string name, CancellationToken cancellation)
    {
        // The sessions on other servers that the previous caller's check began are not for this one.
        environment.Forget(runspace);
        using Shell shell = Shell.Create();
        shell.Runspace = runspace;

        // In a scope of its own: the next caller must not find the variables of this one.
        shell.AddScript(_script, useLocalScope: true).AddArgument(proof);
        using CancellationTokenRegistration gone =
            cancellation.UnsafeRegister(_ => shell.BeginStop(null, null), null);
        try
        {
            PSDataCollection<PSObject> output =
                await Task.Factory.FromAsync(shell.BeginInvoke(), shell.EndInvoke).ConfigureAwait(false);
            return output.LastOrDefault()?.BaseObject switch
            {
                string { Length: > 0 } user => new GenericIdentity(user, authenticationType),
                true => new GenericIdentity(name, authenticationType),
                _ => null,
            };
        }
        catch (RuntimeException) when (cancellation.IsCancellationRequested)
        {
            // The caller disconnected, which stopped the script.
            return null;
        }
        catch (RuntimeException e)
        {
            failed(HandlerFailure.ToRecord(e, authenticationType));
            return null;
        }
    }

    private void Close()
    {
        while (_idle.TryTake(out Runspace? runspace))
        {
            runspace.Dispose();
        }

        _free.Dispose();
    }
}
