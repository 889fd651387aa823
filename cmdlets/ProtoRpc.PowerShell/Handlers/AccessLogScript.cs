using System.Management.Automation;
using System.Management.Automation.Runspaces;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>A script block that receives each call of a listener, one at a time, in a separate runspace.
/// Its streams and errors are records of the listener.</summary>
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

    /// <summary>Ends the runspace, also while the block runs.</summary>
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

    // Started with the first call, on a separate thread.
    private Shell Open()
    {
        Runspace runspace = RunspaceFactory.CreateRunspace(environment.State);
        runspace.Open();
        runspace.SessionStateProxy.Path.SetLocation(WildcardPattern.Escape(environment.Location));
        Shell shell = Shell.Create();
        shell.Runspace = runspace;
        foreach ((string name, ScriptSource source) in environment.Functions)
        {
            shell.Commands.Clear();
            string text = source.Parse().ToString();
            shell.AddScript(name.Length == 0 ? text : $"function global:{name} {{ {text} }}").Invoke();
        }

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
