using System.Management.Automation;
using System.Management.Automation.Runspaces;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Runspaces;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.PowerShell.Completing;

/// <summary>Completes a line before the user first presses Tab, so that the code for the first Tab is
/// compiled and read from disk.</summary>
/// <remarks>The shell compiles its completion at the first Tab. The same is true for the module's, unless it
/// is compiled ahead of time. This compilation is most of the time of a first Tab.</remarks>
internal static class CompletionWarmUp
{
    private const string LineEditor = "Microsoft.PowerShell.PSReadLine";

    private static readonly Lazy<Thread> Begun = new(() =>
    {
        Thread thread = new(Run)
        {
            IsBackground = true,
            Name = nameof(CompletionWarmUp),
            Priority = ThreadPriority.BelowNormal,
        };
        thread.Start();
        return thread;
    });

    /// <summary>Begins in interactive sessions. There PSReadLine is loaded before a profile or a prompt
    /// imports the module; scripts never load it.</summary>
    public static void BeginAtPrompt()
    {
        if (Array.Exists(
            AppDomain.CurrentDomain.GetAssemblies(),
            assembly => assembly.FullName?.StartsWith(LineEditor, StringComparison.Ordinal) == true))
        {
            Begin();
        }
    }

    /// <summary>Begins once per process, on a thread with a lower priority.</summary>
    public static void Begin() => _ = Begun.Value;

    private static void Run()
    {
        try
        {
            RpcMethodInfo method = PingProtocol.Info;

            // A separate runspace, because the user's runspace runs the user's commands meanwhile.
            InitialSessionState state = InitialSessionState.CreateDefault2();
            state.Commands.Add(
                new SessionStateCmdletEntry("Invoke-RpcMethod", typeof(InvokeRpcMethodCommand), null));
            state.Variables.Add(new SessionStateVariableEntry("schema", method.Service.Schema, null));
            using Runspace runspace = RunspaceFactory.CreateRunspace(state);
            runspace.Open();
            Runspace.DefaultRunspace = runspace;
            const string Call = "Invoke-RpcMethod -Endpoint inproc://x -Schema $schema ";
            Complete($"{Call}-Method p");
            Complete($"{Call}-Method {method.Name} -Message @{{ ");
            Complete($"{Call}-Method {method.Name} -Message ");
            LinePrediction.Of($"{Call}-Method p", RunspaceStore.Current);
            LinePrediction.Of($"Invoke-RpcMethod {method.Name} @{{ s", RunspaceStore.Current);
            Runspace.DefaultRunspace = null;
        }
        catch (Exception)
        {
            // Errors are ignored here; the first Tab shows them.
        }
    }

    private static void Complete(string line) =>
        _ = TableCompletion.Find(line, line.Length, null)
            ?? CommandCompletion.CompleteInput(line, line.Length, null);
}
