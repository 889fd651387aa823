using System.Management.Automation;
using System.Security.Principal;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A check that authenticates callers of a listener. Its script can be replaced while checks
/// run.</summary>
/// <param name="authenticationType">The authentication type of the identities that it returns.</param>
/// <param name="failed">Receives the records of scripts that fail.</param>
internal sealed class CallerCheck(string authenticationType, Action<ErrorRecord> failed) : IDisposable
{
    private CallerCheckScript? _script;

    /// <summary>Sets the script for new checks. Checks that are running finish with the previous
    /// script.</summary>
    /// <param name="script">The script.</param>
    /// <param name="environment">What it uses of the caller's session.</param>
    public void Set(ScriptSource script, HandlerEnvironment environment) => Interlocked
        .Exchange(ref _script, new CallerCheckScript(environment, script, authenticationType, failed))?
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

        // The listener has stopped, so the caller is rejected.
        return null;
    }

    public void Dispose() => Interlocked.Exchange(ref _script, null)?.Dispose();
}
