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
        IReadOnlyList<string> methods = SetUp(Mock.Mock, environment, pool);
        if (Reset)
        {
            Mock.Reset();
        }

        // The scripts of earlier replies have their own workers, because they may still be running.
        StartWorkers(pool);
        Mock.Use(pool, methods);
        if (PassThru)
        {
            WriteObject(Mock);
        }
    }
}
