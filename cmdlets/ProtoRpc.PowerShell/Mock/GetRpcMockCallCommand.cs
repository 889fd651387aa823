using System.Management.Automation;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcMockCall")]
[OutputType(typeof(RpcMockCall))]
public sealed class GetRpcMockCallCommand : RpcCmdlet
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(MockCompleter))]
    public RpcMockListener Mock { get; set; } = null!;

    [Parameter(Position = 1)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MockMethodCompleter))]
    public string[] Method { get; set; } = [];

    protected override void Process()
    {
        RpcMethodInfo[] methods = [.. Method.Select(Mock.Mock.FindMethod)];
        foreach (RpcRecordedCall call in Mock.Mock.Calls)
        {
            if (methods.Length == 0 || methods.Contains(call.Method))
            {
                WriteObject(new RpcMockCall(call));
            }
        }
    }
}
