using System.Management.Automation;
using System.Management.Automation.Runspaces;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc.PowerShell.Completing;

/// <summary>Completes a line before somebody presses Tab, so that all that the first Tab needs is compiled
/// and read from disk.</summary>
/// <remarks>The module is one for all systems, so its assemblies are not compiled ahead of time. Without the
/// warm-up, three quarters of the time of the first Tab are the just-in-time compiler's.</remarks>
internal static class CompletionWarmUp
{
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

    /// <summary>Begins once in the process, on a thread that stands back behind all others.</summary>
    public static void Begin() => _ = Begun.Value;

    private static void Run()
    {
        try
        {
            string folder = Path.GetDirectoryName(typeof(CompletionWarmUp).Assembly.Location) ?? "";
            string file = Path.Combine(folder, "protos", "grpc", "health", "v1", "health.proto");

            // A separate runspace, because that of the user runs the user's commands meanwhile.
            InitialSessionState state = InitialSessionState.CreateDefault2();
            state.Commands.Add(
                new SessionStateCmdletEntry("Invoke-RpcMethod", typeof(InvokeRpcMethodCommand), null));
            using Runspace runspace = RunspaceFactory.CreateRunspace(state);
            runspace.Open();
            Runspace.DefaultRunspace = runspace;
            string call = $"Invoke-RpcMethod -Endpoint inproc://x -Schema {ScriptLiteral.Argument(file)} ";
            Complete($"{call}-Method C");
            Complete($"{call}-Method Check -Message @{{ ");
            Complete($"{call}-Method Check -Message ");
            LinePrediction.Of($"{call}-Method C", RunspaceStore.Current);
            LinePrediction.Of("Invoke-RpcMethod Check @{ s", RunspaceStore.Current);
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
