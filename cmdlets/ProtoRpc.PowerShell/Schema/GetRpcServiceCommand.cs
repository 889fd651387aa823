using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Completion;

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

[Cmdlet(VerbsCommon.Get, "RpcMessageType", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcMessageInfo))]
public sealed class GetRpcMessageTypeCommand : RpcDescribeCommand
{
    private IReadOnlyList<RpcEnumInfo> _enums = [];

    [Parameter(Position = 0)]
    [Alias("Type")]
    [SupportsWildcards]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string[] Name { get; set; } = [];

    protected override void Process()
    {
        RpcSchema schema = ResolveSchema();
        _enums = schema.Enums;
        WriteObject(
            Select(schema.Messages, Name, "message", message => message.FullName, message => message.Name),
            enumerateCollection: true);
    }

    private protected override RpcException? FindOther(string name)
    {
        RpcEnumInfo? found = _enums.FirstOrDefault(type =>
            name.Equals(type.FullName, StringComparison.OrdinalIgnoreCase)
            || name.Equals(type.Name, StringComparison.OrdinalIgnoreCase));
        return found is null ? null : new RpcException(
            RpcStatusCode.NotFound, RpcErrorIds.MessageNotFound,
            $"'{found.FullName}' is an enum, not a message."
            + ValueText.OfNames(found.Values.Select(value => value.Key), " Its names are", " It has no names")
            + ".");
    }
}
