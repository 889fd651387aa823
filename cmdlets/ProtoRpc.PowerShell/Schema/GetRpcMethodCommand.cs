using System.Management.Automation;

namespace ProtoRpc;

[Cmdlet(VerbsCommon.Get, "RpcMethod", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcMethodInfo))]
public sealed class GetRpcMethodCommand : RpcDescribeCommand
{
    [Parameter(Position = 0)]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(MethodCompleter))]
    public string[] Name { get; set; } = [];

    [Parameter]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Service { get; set; } = [];

    protected override void Process()
    {
        IEnumerable<RpcServiceInfo> services = Select(
            ResolveSchema().Services, Service, "service", service => service.FullName, service =>
                service.Name);
        IEnumerable<RpcMethodInfo> methods = services.SelectMany(service => service.Methods);
        WriteObject(
            Select(methods, Name, "method", method => method.FullName, method => method.Name),
            enumerateCollection: true);
    }
}
