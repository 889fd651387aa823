using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Set, "RpcMock", SupportsShouldProcess = true)]
[OutputType(typeof(RpcMockListener))]
public sealed class SetRpcMockCommand : RpcMockSetupCommand
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(MockCompleter))]
    public RpcMockListener Mock { get; set; } = null!;

    [Parameter]
    public SwitchParameter Reset { get; set; }

    [Parameter]
    public SwitchParameter PassThru { get; set; }

    protected override void Process()
    {
        if (!ShouldProcess(Mock.ToString(), "Change the replies of the mock"))
        {
            return;
        }

        RequireImpersonation();
        HandlerEnvironment environment = CreateEnvironment();
        HandlerPool pool = new(environment, Mock.Streams, ThrottleLimit, Limits);
        SetUp(Mock.Mock, environment, pool);
        if (Reset)
        {
            Mock.Reset();
        }

        // The scripts of earlier replies have workers of their own, for they may still run.
        StartWorkers(pool);
        Mock.Completion.ContinueWith(_ => pool.Dispose(), TaskScheduler.Default);
        if (PassThru)
        {
            WriteObject(Mock);
        }
    }
}
