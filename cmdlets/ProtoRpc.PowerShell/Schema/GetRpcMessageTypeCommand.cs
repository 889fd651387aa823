using System.Management.Automation;
using ProtoRpc.Messages;

namespace ProtoRpc;

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
            RpcStatusCode.NotFound,
            $"'{found.FullName}' is an enum, not a message."
            + ValueText.OfNames(found.Values.Select(value => value.Key), " Its names are", " It has no names")
            + ".")
        {
            ErrorId = RpcErrorIds.MessageNotFound,
        };
    }
}
