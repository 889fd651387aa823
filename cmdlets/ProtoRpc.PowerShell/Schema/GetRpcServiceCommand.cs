using System.Management.Automation;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcService", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcServiceInfo))]
public sealed class GetRpcServiceCommand : RpcDescribeCommand
{
    [Parameter(Position = 0)]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Name { get; set; } = [];

    protected override void Process() => WriteObject(
        Select(
            ResolveSchema().Services, Name, "service", service => service.FullName, service => service.Name),
        enumerateCollection: true);
}
