using System.Management.Automation;
using System.Management.Automation.Runspaces;
using System.Security.Principal;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A script block that says who a caller is, by what he presents:
/// a name, or whether it is right.</summary>
internal sealed class CallerCheckScript(
    Lazy<RunspacePool> runspaces, ScriptSource script, string authenticationType, Action<ErrorRecord> failed)
{
    private readonly string _script = script.Parse().ToString();

    /// <summary>Asks the script.</summary>
    /// <param name="proof">What the script gets.</param>
    /// <param name="name">The caller's name, where the script only says that he is right.</param>
    /// <param name="cancellation">The caller is gone.</param>
    /// <returns>Null when it proves nobody; a script that fails proves nobody, and leaves a record.</returns>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string name, CancellationToken cancellation)
    {
        using Shell shell = Shell.Create();
        shell.RunspacePool = runspaces.Value;
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
}
