using System.Management.Automation;
using System.Management.Automation.Runspaces;
using System.Security.Principal;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A script block that says who a caller is, by what he presents:
/// a name, or whether it is right.</summary>
internal sealed class CallerCheckScript(
    InitialSessionState state, ScriptSource script, string authenticationType, Action<ErrorRecord> failed)
    : IDisposable
{
    private const int MaxChecks = 4;

    private readonly string _script = script.Parse().ToString();

    // Opened when the first caller is checked: most listeners check none.
    private readonly Lazy<RunspacePool> _runspaces = new(() => Open(state));
    private readonly Lock _gate = new();
    private int _running;
    private bool _isEnded;

    /// <summary>Begins a check.</summary>
    /// <returns>False after it was disposed of.</returns>
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

    /// <summary>Takes no more checks; the runspaces go with the last one that runs.</summary>
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

    /// <summary>Asks the script.</summary>
    /// <param name="proof">What the script gets.</param>
    /// <param name="name">The caller's name, where the script only says that he is right.</param>
    /// <param name="cancellation">Cancelled when the caller disconnects.</param>
    /// <returns>The caller; null to reject it. A script that fails rejects it, and leaves a record.</returns>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string name, CancellationToken cancellation)
    {
        using Shell shell = Shell.Create();
        shell.RunspacePool = _runspaces.Value;
        shell.AddScript(_script).AddArgument(proof);
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
            // Stopped because the caller is gone.
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
        if (_runspaces.IsValueCreated)
        {
            _runspaces.Value.Dispose();
        }
    }

    private static RunspacePool Open(InitialSessionState state)
    {
        RunspacePool runspaces = RunspaceFactory.CreateRunspacePool(state);
        runspaces.SetMaxRunspaces(MaxChecks);
        runspaces.Open();
        return runspaces;
    }
}
