using System.Management.Automation;

namespace ProtoRpc.PowerShell;

[Cmdlet(VerbsCommon.New, "RpcMessage", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(System.Collections.Specialized.OrderedDictionary))]
public sealed class NewRpcMessageCommand : RpcDescribeCommand
{
    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string Type { get; set; } = "";

    protected override void Process() =>
        WriteObject(MapperFor(asHashtable: true).Template(ResolveSchema().GetMessage(Type)));
}
