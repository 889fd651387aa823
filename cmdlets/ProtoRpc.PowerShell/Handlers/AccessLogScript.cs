using System.Management.Automation;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>Runs a script block for each call of a listener, one call at a time, in a separate runspace. The
/// block's streams and errors become records of the listener.</summary>
internal sealed class AccessLogScript(
    HandlerEnvironment environment, ScriptSource script, HandlerStreams streams) : IDisposable
{
    private readonly string _script = script.Parse().ToString();
    private Shell? _shell;

    /// <summary>Runs the block for a call.</summary>
    /// <exception cref="RuntimeException">The block failed.</exception>
    public void Write(RpcAccessLogEntry entry)
    {
        Shell shell = _shell ??= Open();
        shell.Commands.Clear();
        shell.AddScript(_script, useLocalScope: true).AddArgument(entry);
        try
        {
            shell.Invoke();
        }
        finally
        {
            Report(shell.Streams);
        }
    }

    /// <summary>Closes the runspace, even while the block runs.</summary>
    public void Dispose()
    {
        if (_shell is { } shell)
        {
            shell.BeginStop(
                _ =>
                {
                    shell.Runspace.Dispose();
                    shell.Dispose();
                },
                null);
        }
    }

    // Opened by the first call, on the log's own thread.
    private Shell Open()
    {
        Shell shell = Shell.Create();
        shell.Runspace = environment.OpenRunspace();
        return shell;
    }

    private void Report(PSDataStreams from)
    {
        foreach (ErrorRecord error in from.Error.ReadAll())
        {
            streams.Add(new WarningRecord($"The access log's script reported: {error}"));
        }

        foreach (object record in from.Warning.ReadAll().Cast<object>()
            .Concat(from.Information.ReadAll()).Concat(from.Verbose.ReadAll()).Concat(from.Debug.ReadAll()))
        {
            streams.Add(record);
        }
    }
}
