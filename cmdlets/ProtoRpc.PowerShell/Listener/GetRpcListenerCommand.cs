using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

/// <summary>The base of cmdlets that act on listeners, given as objects or by id.</summary>
public abstract class RpcListenerCommand : RpcCmdlet
{
    protected const string ByListener = "Listener";
    protected const string ById = "Id";

    private protected RpcListenerCommand()
    {
    }

    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ByListener)]
    [ArgumentCompleter(typeof(ListenerCompleter))]
    public RpcListener[] Listener { get; set; } = [];

    // Not by property name: a connection, or a copy of another process's listener, also has an Id.
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true, ParameterSetName = ById)]
    [ArgumentCompleter(typeof(ListenerIdCompleter))]
    public int[] Id { get; set; } = [];

    /// <summary>The given listeners. An id that no listener has is an error.</summary>
    protected IReadOnlyList<RpcListener> ResolveListeners() =>
        ParameterSetName == ByListener
            ? Listener
            : WithIds(RunspaceStore.Current.Listeners, Id, l => l.Id, "listener");
}

[Cmdlet(VerbsCommon.Get, "RpcListener")]
[OutputType(typeof(RpcListener))]
public sealed class GetRpcListenerCommand : RpcCmdlet
{
    [Parameter(Position = 0)]
    [ArgumentCompleter(typeof(ListenerIdCompleter))]
    public int[] Id { get; set; } = [];

    protected override void Process() => WriteObject(
        Id.Length == 0
            ? RunspaceStore.Current.Listeners
            : WithIds(RunspaceStore.Current.Listeners, Id, listener => listener.Id, "listener"),
        enumerateCollection: true);
}

[Cmdlet(
    VerbsLifecycle.Stop, "RpcListener", DefaultParameterSetName = ByListener, SupportsShouldProcess = true)]
public sealed class StopRpcListenerCommand : RpcListenerCommand
{
    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? DrainTimeout { get; set; }

    protected override void Process()
    {
        foreach (RpcListener listener in ResolveListeners())
        {
            if (ShouldProcess(listener.ToString(), "Stop the listener"))
            {
                Stop(listener);
            }
        }
    }

    // Running calls have time to end. Ctrl+C ends the wait for them, but the listener continues to stop.
    private void Stop(RpcListener listener)
    {
        RunspaceStore store = RunspaceStore.Current;
        Task stopping = Task.Run(() => store.Stop(listener, DrainTimeout));
        using WaitProgress progress = new($"Stopping {listener}", WriteProgress);
        while (Task.WaitAny([stopping], (int)WaitProgress.Period.TotalMilliseconds, Cancellation) < 0)
        {
            progress.Report(() => $"{listener.InFlight} calls are running");
        }

        stopping.GetAwaiter().GetResult();
        if (listener is RpcMockListener mock)
        {
            MockDrive.Remove(mock, SessionState);
        }
    }
}
