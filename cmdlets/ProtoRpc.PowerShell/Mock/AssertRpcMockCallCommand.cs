using System.Collections.ObjectModel;
using System.Management.Automation;
using ProtoRpc.PowerShell.Mock;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Assert, "RpcMockCall")]
[OutputType(typeof(void))]
public sealed class AssertRpcMockCallCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(MockCompleter))]
    public RpcMockListener Mock { get; set; } = null!;

    [Parameter(Mandatory = true, Position = 1)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MockMethodCompleter))]
    public string Method { get; set; } = "";

    [Parameter]
    [ValidateRange(ValidateRangeKind.NonNegative)]
    public int Times { get; set; } = 1;

    [Parameter]
    public SwitchParameter Exactly { get; set; }

    [Parameter]
    [ValidateNotNull]
    public ScriptBlock? Where { get; set; }

    protected override void Process()
    {
        RpcMockCall[] calls;
        RpcMethodInfo method;
        try
        {
            method = Mock.Mock.FindMethod(Method);
            calls = [.. Mock.Mock.CallsOf(method.FullName).Select(call => new RpcMockCall(call))];
        }
        catch (RpcException e)
        {
            // Terminating, so that a wrong method name does not pass as a call that was not made.
            Fail(e);
            return;
        }

        bool[] matches = [.. calls.Select((call, index) => Matches(call, index))];
        int count = matches.Count(match => match);
        if (count == Times || (count > Times && Times > 0 && !Exactly))
        {
            return;
        }

        CallMismatch mismatch = new(method, Times, Exactly || Times == 0, Where)
        {
            Dropped = Mock.DroppedCalls,
            Others = [.. Mock.Mock.Calls.Where(call => call.Method != method)],
        };
        Fail(
            new RpcException(
                RpcStatusCode.FailedPrecondition,
                mismatch.Describe(calls, matches, WhereConditions.Of(Where, InvokeCommand)))
            {
                ErrorId = RpcErrorIds.MockCallMismatch,
                MethodName = method.FullName,
            },
            Mock);
    }

    private bool Matches(RpcMockCall call, int index)
    {
        if (Where is null)
        {
            return true;
        }

        try
        {
            Collection<PSObject> output =
                Where.InvokeWithContext(null, [new PSVariable("_", PSObject.AsPSObject(call))]);
            return LanguagePrimitives.IsTrue(output);
        }
        catch (RuntimeException e)
        {
            Fail(new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The block of -Where failed for call {index + 1} of {call.Method}: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.MockCallMismatch,
            });
            return false;
        }
    }
}
