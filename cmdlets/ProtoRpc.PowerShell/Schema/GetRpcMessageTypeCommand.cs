using System.Management.Automation;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcMessageType", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcMessageInfo))]
public sealed class GetRpcMessageTypeCommand : RpcDescribeCommand
{
    [Parameter(Position = 0)]
    [Alias("Type")]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string[] Name { get; set; } = [];

    protected override void Process() => WriteObject(
        Select(
            ResolveSchema().Messages, Name, "message", message => message.FullName, message => message.Name),
        enumerateCollection: true);
}
