using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Mock;

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

        try
        {
            Change();
        }
        catch (RpcException e)
        {
            // A terminating error, because the test must not go on with the old replies.
            Fail(e, Mock);
        }
    }

    private void Change()
    {
        RequireImpersonation();
        HandlerEnvironment environment = CreateEnvironment();
        // The scripts of earlier replies have their own workers, because they may still be running.
        HandlerPool pool = new(environment, Mock.Streams, ThrottleLimit, Limits)
        {
            Impersonates = MyInvocation.BoundParameters.ContainsKey(nameof(Impersonate))
                ? Impersonate
                : Mock.Handlers.Impersonates,
        };
        MockSetup setup = ReadSetup(Mock.Mock, environment, pool);
        Start(pool);
        if (Reset)
        {
            Mock.Reset();
        }

        setup.Apply();
        Mock.Use(pool, setup.Methods);
        if (PassThru)
        {
            WriteObject(Mock);
        }
    }

    // What can fail comes before the mock changes.
    private void Start(HandlerPool pool)
    {
        try
        {
            StartWorkers(pool);
        }
        catch (Exception e)
        {
            pool.Dispose();
            if (e is IContainsErrorRecord failed)
            {
                ThrowTerminatingError(failed.ErrorRecord);
            }

            throw;
        }
    }
}
