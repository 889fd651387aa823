using System.Management.Automation;
using System.Management.Automation.Runspaces;
using System.Security.Principal;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A check of a listener, whose script can be replaced while callers are checked.</summary>
/// <param name="authenticationType">The type of the identities that it gives.</param>
/// <param name="failed">Takes the records of scripts that fail.</param>
internal sealed class CallerCheck(string authenticationType, Action<ErrorRecord> failed) : IDisposable
{
    private CallerCheckScript? _script;

    /// <summary>Checks with a script from now on. Callers who are being checked are checked to the end by the
    /// former one.</summary>
    /// <param name="script">The script.</param>
    /// <param name="state">What its runspaces have.</param>
    public void Set(ScriptSource script, InitialSessionState state) => Interlocked
        .Exchange(ref _script, new CallerCheckScript(state, script, authenticationType, failed))?
        .Dispose();

    /// <inheritdoc cref="CallerCheckScript.CheckAsync"/>
    public async ValueTask<IIdentity?> CheckAsync(object proof, string name, CancellationToken cancellation)
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

        // The listener has stopped.
        return null;
    }

    public void Dispose() => Interlocked.Exchange(ref _script, null)?.Dispose();
}
